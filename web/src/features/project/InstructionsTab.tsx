import { type FormEvent, useState } from 'react'
import { Button } from '@/components/Button'
import { TextArea } from '@/components/Field'
import { UnsavedGuard } from '@/components/UnsavedGuard'
import { errorMessage, type Project } from '@/lib/api'
import { formatNumber } from '@/lib/ui/numbers'
import { useTask } from '@/lib/ui/task'
import { toast, toastFailure } from '@/lib/ui/toast'
import { type Changes, Conflict } from './instructions/Conflict'
import styles from './instructions/Instructions.module.css'
import { Empty } from './parts'
import { mayEdit, useProject } from './project'
import { isConflict, readProject, saveProject } from './queries'
import { texts } from './texts'

const words = texts.instructions

/** The API's maximum number of characters. */
const MOST = 32_000

/**
 * InstructionsTab shows the instructions of the project; editors change them. It keeps the record that the changes are
 * based on, so that saving detects changes by other members.
 */
export function InstructionsTab() {
  const loaded = useProject()
  const [base, setBase] = useState(loaded)
  const [text, setText] = useState(loaded.instructions ?? '')
  const [conflict, setConflict] = useState<Changes | null>(null)
  const { busy, run } = useTask()
  const length = [...text].length
  const count = words.count(formatNumber(length), formatNumber(MOST))
  const saved = base.instructions ?? ''
  // A user who may no longer edit keeps an unsaved text, to copy it.
  const dirty = text !== saved || conflict !== null
  const reset = (project: Project) => {
    setBase(project)
    setText(project.instructions ?? '')
    setConflict(null)
  }
  // Another member has changed the project, and this text has no unsaved changes.
  if (!dirty && loaded.version > base.version) reset(loaded)
  /** Saves over a version of the project. If another member has changed its instructions, shows both changes. */
  const saveOver = async (before: Project): Promise<void> => {
    try {
      const stored = await saveProject(before, { instructions: text })
      setBase(stored)
      // Text typed during the request remains.
      setText((now) => (now === text ? (stored.instructions ?? '') : now))
      setConflict(null)
      toast(words.saved, { tone: 'success' })
    } catch (cause) {
      if (!isConflict(cause)) throw cause
      const now = await readProject(before.id)
      if (now.instructions === before.instructions) return saveOver(now)
      const { mergeTexts } = await import('./instructions/merge')
      const theirs = now.instructions ?? ''
      const merged = mergeTexts(before.instructions ?? '', theirs, text)
      setBase(now)
      setText(merged.text)
      setConflict({ theirs, mine: text, merged })
    }
  }
  const save = () =>
    run(
      () => saveOver(base),
      (cause) => toastFailure(texts.notSaved(errorMessage(cause)), () => void save()),
    )
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    if (length <= MOST) void save()
  }
  if (!mayEdit(loaded) && !dirty)
    return saved ? <p className={styles.read}>{saved}</p> : <Empty {...words.none} />
  return (
    <section className={styles.editor} aria-labelledby={conflict ? 'conflict' : undefined}>
      {conflict && <Conflict key={base.version} {...conflict} onUse={setText} />}
      <form className={styles.form} noValidate onSubmit={onSubmit}>
        <TextArea
          className={styles.text}
          label={conflict ? words.conflict.result : words.label}
          hint={conflict ? count : `${words.hint} ${count}`}
          error={length > MOST ? words.tooLong(formatNumber(MOST)) : undefined}
          placeholder={words.example}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <div className={styles.actions}>
          <Button type="submit" variant="primary" disabled={!dirty} loading={busy}>
            {conflict ? words.conflict.save : texts.save}
          </Button>
          {conflict && (
            <>
              <Button disabled={text === conflict.merged.text} onClick={() => setText(conflict.merged.text)}>
                {words.conflict.useBoth}
              </Button>
              <Button variant="quietDanger" onClick={() => reset(base)}>
                {words.conflict.discard}
              </Button>
            </>
          )}
        </div>
      </form>
      <UnsavedGuard dirty={dirty} />
    </section>
  )
}
