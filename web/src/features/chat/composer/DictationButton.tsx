import { Mic, Square } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { ComposerTool } from '@/components/ComposerBox'
import { canDictate, Dictation, type DictationEnd } from '@/lib/browser/dictation'
import { store } from '@/lib/ui/store'
import { toast } from '@/lib/ui/toast'
import { draftAtom } from '../draft/drafts'
import { texts } from '../texts'

const words = texts.dictation

/** DictationButton enters speech into a draft. It is shown only if this device recognizes speech itself. */
export function DictationButton({ draft, disabled }: { draft: string; disabled: boolean }) {
  const [available, setAvailable] = useState(false)
  const [state, setState] = useState<'off' | 'beginning' | 'on'>('off')
  const running = useRef<Dictation>(null)
  useEffect(() => {
    void canDictate().then(setAvailable)
  }, [])
  // Another draft, or the end of this one, stops the dictation.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the effect belongs to the draft.
  useEffect(
    () => () => {
      running.current?.stop()
      running.current = null
    },
    [draft],
  )
  if (!available) return null

  const onEnd = (end: DictationEnd) => {
    running.current = null
    setState('off')
    if (end !== 'done') toast(end === 'not-allowed' ? words.notAllowed : words.failed, { tone: 'danger' })
  }
  const toggle = () => {
    if (state !== 'off') {
      running.current?.stop()
      return
    }
    setState('beginning')
    const text = draftAtom(draft)
    Dictation.begin((spoken) => store.set(text, store.get(text) + spoken), onEnd).then(
      (dictation) => {
        running.current = dictation
        setState('on')
      },
      () => onEnd('failed'),
    )
  }
  return (
    <ComposerTool
      icon={state === 'on' ? <Square size={16} aria-hidden /> : <Mic size={16} aria-hidden />}
      aria-label={words.label}
      aria-pressed={state !== 'off'}
      data-tip="top"
      disabled={disabled || state === 'beginning'}
      onMouseDown={(event) => event.preventDefault()} // The focus stays in the field.
      onClick={toggle}
    >
      {state === 'on' ? words.stop : words.button}
    </ComposerTool>
  )
}
