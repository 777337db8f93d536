import { useAtomValue } from 'jotai'
import { Languages, MessageCircleQuestion, PencilLine } from 'lucide-react'
import { type RefObject, useEffect, useEffectEvent, useLayoutEffect, useRef, useState } from 'react'
import { createPortal } from 'react-dom'
import { Button } from '@/components/Button'
import { CopyButton } from '@/components/CopyButton'
import { copyText } from '@/lib/browser/clipboard'
import { keepBeside } from '@/lib/ui/anchored'
import { focusComposer } from '@/lib/ui/composer'
import { ime } from '@/lib/ui/ime'
import { useMedia } from '@/lib/ui/media'
import { store } from '@/lib/ui/store'
import type { Conversation } from '../conversation/conversation'
import type { Question } from '../conversation/conversationState'
import { readAttachments } from '../draft/attachments'
import { draftAtom, draftKey } from '../draft/drafts'
import { texts } from '../texts'
import { type Passage, quoted, selectedPassage } from './passage'
import styles from './SelectionToolbar.module.css'

const words = texts.selection

export interface SelectionToolbarProps {
  readonly conversation: Conversation
  /** The element with the answers. */
  readonly root: RefObject<HTMLElement | null>
  /** Whether the skill accepts no more questions. */
  readonly closed: boolean
  readonly onAsk: (question: Question) => void
}

/**
 * SelectionToolbar offers actions on a selected passage of an answer. Alt + F10 moves the focus to it, as to other
 * floating toolbars. On touch screens it is above the composer, because the system's own menu and the handles of the
 * selection are beside the passage.
 */
export function SelectionToolbar(props: SelectionToolbarProps) {
  const [passage, dismiss] = usePassage(props.root)
  return passage && <Toolbar {...props} passage={passage} onDone={dismiss} />
}

function Toolbar({
  conversation,
  closed,
  onAsk,
  passage: { text, range },
  onDone,
}: SelectionToolbarProps & { passage: Passage; onDone: () => void }) {
  const busy = useAtomValue(conversation.busyAtom)
  const box = useRef<HTMLDivElement>(null)
  const touch = useMedia('(pointer: coarse)')
  useLayoutEffect(() => {
    const anchor = (touch && document.querySelector('[data-composer]')?.closest('form')) || range
    return box.current ? keepBeside(box.current, anchor, 'top', 'center', onDone) : undefined
  }, [touch, range, onDone])
  const onKeyDown = useEffectEvent((event: KeyboardEvent) => {
    const inside = box.current?.contains(document.activeElement)
    if (event.altKey && event.key === 'F10') box.current?.querySelector('button')?.focus()
    else if (event.key === 'Escape' && !ime.isComposing(event)) {
      onDone()
      if (inside) focusComposer()
    } else return
    event.preventDefault()
  })
  useEffect(() => {
    const listener = (event: KeyboardEvent) => onKeyDown(event)
    document.addEventListener('keydown', listener, { capture: true })
    return () => document.removeEventListener('keydown', listener, { capture: true })
  }, [])

  const request = (instruction: string) => () => {
    onAsk({ kind: 'text', content: `${instruction}\n\n${quoted(text)}` })
    finish()
  }
  const ask = () => {
    const { skillId, state } = conversation
    const key = draftKey(skillId, state.thread?.id)
    const draft = draftAtom(key)
    if (!readAttachments(key).waiting)
      store.set(draft, [store.get(draft).trimEnd(), `${quoted(text)}\n\n`].filter(Boolean).join('\n\n'))
    finish()
    requestAnimationFrame(moveCaretToEnd)
  }
  const finish = () => {
    getSelection()?.removeAllRanges()
    onDone()
    focusComposer()
  }
  return createPortal(
    <div
      ref={box}
      className={styles.toolbar}
      role="toolbar"
      aria-label={words.label}
      aria-keyshortcuts="Alt+F10"
      data-print="hide"
      data-passage-toolbar
      // A press would remove the selection.
      onMouseDown={(event) => event.preventDefault()}
    >
      {!closed && (
        <>
          <Button size="sm" variant="quiet" onClick={ask}>
            <MessageCircleQuestion size={14} aria-hidden />
            {words.ask}
          </Button>
          <Button size="sm" variant="quiet" disabled={busy} onClick={request(words.rephraseRequest)}>
            <PencilLine size={14} aria-hidden />
            {words.rephrase}
          </Button>
          <Button size="sm" variant="quiet" disabled={busy} onClick={request(words.translateRequest)}>
            <Languages size={14} aria-hidden />
            {words.translate}
          </Button>
        </>
      )}
      <CopyButton size="sm" variant="quiet" copy={() => copyText(text)}>
        {texts.actions.copy}
      </CopyButton>
    </div>,
    document.body,
  )
}

function moveCaretToEnd(): void {
  const field = document.querySelector<HTMLTextAreaElement>('textarea[data-composer]')
  field?.setSelectionRange(field.value.length, field.value.length)
}

/** usePassage returns the selected passage once the selection is complete, and a function that hides it. */
function usePassage(root: RefObject<HTMLElement | null>): [Passage | null, () => void] {
  const [passage, setPassage] = useState<Passage | null>(null)
  useEffect(() => {
    const controller = new AbortController()
    const options = { signal: controller.signal }
    let pressed = false
    // A press that leaves the selection as it is must not show the toolbar again.
    let changed = false
    // Whether the last press was on the toolbar. Some browsers then clear the selection, which must not close the toolbar.
    let tapped = false
    const update = () => setPassage(root.current ? selectedPassage(root.current) : null)
    const onPress = ({ target }: PointerEvent) => {
      pressed = true
      changed = tapped
      tapped = target instanceof Element && target.closest('[data-passage-toolbar]') !== null
    }
    const onRelease = () => {
      pressed = false
      if (changed && !tapped) update()
    }
    const onSelection = () => {
      changed = true
      tapped &&= getSelection()?.isCollapsed !== false
      if (!pressed && !tapped) update()
    }
    document.addEventListener('pointerdown', onPress, options)
    document.addEventListener('pointerup', onRelease, options)
    document.addEventListener('pointercancel', onRelease, options)
    document.addEventListener('selectionchange', onSelection, options)
    update()
    return () => controller.abort()
  }, [root])
  const [dismiss] = useState(() => () => setPassage(null))
  return [passage, dismiss]
}
