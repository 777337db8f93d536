import { type FormEvent, useState } from 'react'
import { Button } from '@/components/Button'
import { TextArea } from '@/components/Field'
import { EmptyState } from '@/components/States'
import { UnsavedGuard } from '@/components/UnsavedGuard'
import { errorMessage, type Project } from '@/lib/api'
import { formatNumber } from '@/lib/ui/numbers'
import { useTask } from '@/lib/ui/task'
import { toast, toastFailure } from '@/lib/ui/toast'
import { Conflict } from './instructions/Conflict'
import styles from './instructions/Instructions.module.css'
import { mayEdit, useProject } from './project'
import { isConflict, readProject, saveProject } from './queries'
import { texts } from './texts'

const words = texts.instructions

/** The API's maximum number of characters. */
const MOST = 32_000

/** InstructionsTab shows the instructions of the project; editors change them. */
export function InstructionsTab() {
  const project = useProject()
  return <Editor key={project.id} loaded={project} />
}

function Instructions({ text }: { text: string }) {
  if (text !== '') return <p className={styles.read}>{text}</p>
  return (
    <EmptyState title={words.none}>
      <p>{words.noneHint}</p>
    </EmptyState>
  )
}

/**
 * Editor edits the instructions. It keeps the record that the changes are based on, so that saving detects changes by
 * other members.
 */
function Editor({ loaded }: { loaded: Project }) {
  const [base, setBase] = useState(loaded)
  const [text, setText] = useState(loaded.instructions ?? '')
  const [current, setCurrent] = useState<Project | null>(null)
  const { busy, run } = useTask()
  const length = [...text].length
  const saved = base.instructions ?? ''
  // Another member has changed the project, and this text has no unsaved changes.
  if (current === null && text === saved && loaded.version > base.version) {
    setBase(loaded)
    setText(loaded.instructions ?? '')
  }
  const save = (next: string, over: Project) =>
    run(
      async () => {
        const stored = await saveProject(over, { instructions: next })
        setBase(stored)
        // Text typed during the request remains.
        setText((now) => (now === text ? (stored.instructions ?? '') : now))
        setCurrent(null)
        toast(words.saved, { tone: 'success' })
      },
      (cause) => {
        if (isConflict(cause)) return void compare(over, next)
        toastFailure(words.notSaved(errorMessage(cause)), () => void save(next, over))
      },
    )
  /** Shows both texts, or saves over a change of other fields only. */
  const compare = async (before: Project, mine: string) => {
    try {
      const now = await readProject(base.id)
      if (now.instructions === before.instructions) return void save(mine, now)
      setBase(before)
      setText(mine)
      setCurrent(now)
    } catch (cause) {
      toastFailure(words.notSaved(errorMessage(cause)), () => void compare(before, mine))
    }
  }
  // A user who may no longer edit keeps an unsaved text, to copy it.
  const dirty = text !== saved || current !== null
  if (!mayEdit(loaded) && !dirty) return <Instructions text={saved} />
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    if (length <= MOST) void save(text, base)
  }
  return (
    <>
      {current === null ? (
        <form className={styles.form} noValidate onSubmit={onSubmit}>
          <TextArea
            className={styles.text}
            label={words.label}
            hint={`${words.hint} ${words.count(formatNumber(length), formatNumber(MOST))}`}
            error={length > MOST ? words.tooLong(formatNumber(MOST)) : undefined}
            placeholder={words.example}
            value={text}
            onChange={(event) => setText(event.target.value)}
          />
          <Button type="submit" variant="primary" disabled={text === saved} loading={busy}>
            {words.save}
          </Button>
        </form>
      ) : (
        <Conflict
          key={current.version}
          base={saved}
          theirs={current.instructions ?? ''}
          mine={text}
          most={MOST}
          busy={busy}
          onSave={(next) => void save(next, current)}
          onDiscard={() => {
            setBase(current)
            setText(current.instructions ?? '')
            setCurrent(null)
          }}
        />
      )}
      <UnsavedGuard dirty={dirty} />
    </>
  )
}
