import { useAtomValue } from 'jotai'
import { ChevronDown, FileDown } from 'lucide-react'
import { Button } from '@/components/Button'
import { CopyButton } from '@/components/CopyButton'
import { Menu, MenuItem } from '@/components/Menu'
import { Spinner } from '@/components/Spinner'
import { copyText } from '@/lib/browser/clipboard'
import type { Change } from '@/lib/stream'
import { toast, toastFailure } from '@/lib/ui/toast'
import { modeAtom, setMode } from './mode'
import styles from './Proofread.module.css'
import { type Decisions, resultOf } from './review'
import { texts } from './texts'
import { openQuestions } from './useReview'
import type { ProofreadViewProps, WordChanges } from './viewProps'

interface HeadProps extends ProofreadViewProps {
  readonly changes: readonly Change[]
  readonly decisions: Decisions
  readonly roomy: boolean
}

/** Head shows the number of changes, the view mode and the actions on the corrected text. */
export function Head(props: HeadProps) {
  const { changes, writing, roomy } = props
  return (
    <div className={styles.head}>
      <p className={styles.found}>
        {writing && <Spinner size={16} />}
        {changes.length > 0 ? texts.found(changes.length) : texts.reading}
      </p>
      <div className={styles.tools} data-print="hide">
        {roomy && <ModeSwitch />}
        {!writing && changes.length > 0 && <Result {...props} />}
      </div>
    </div>
  )
}

function ModeSwitch() {
  const mode = useAtomValue(modeAtom)
  return (
    <div className={styles.modes} role="group" aria-label={texts.mode.label}>
      {(['split', 'joined'] as const).map((name) => (
        <button key={name} type="button" aria-pressed={mode === name} onClick={() => setMode(name)}>
          {texts.mode[name]}
        </button>
      ))}
    </div>
  )
}

/** Result has the actions on the corrected text: copy it, or save it as a Word file. */
function Result({ proofread, changes, decisions, onSave }: HeadProps) {
  const copy = async () => {
    await copyText(resultOf(proofread.text, changes, decisions))
    const open = openQuestions(changes, decisions)
    if (open > 0) toast(texts.result.unanswered(open))
  }
  const save = (how: WordChanges) => {
    onSave(how).catch(() => toastFailure(texts.result.wordFailed, () => save(how)))
  }
  return (
    <>
      <CopyButton size="sm" copy={copy}>
        {texts.result.copy}
      </CopyButton>
      <Menu
        trigger={
          <Button size="sm">
            <FileDown size={14} aria-hidden />
            {texts.result.word}
            <ChevronDown size={14} aria-hidden />
          </Button>
        }
      >
        <MenuItem onSelect={() => save('tracked')}>{texts.result.tracked}</MenuItem>
        <MenuItem onSelect={() => save('applied')}>{texts.result.applied}</MenuItem>
      </Menu>
    </>
  )
}
