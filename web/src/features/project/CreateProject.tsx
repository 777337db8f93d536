import { type FormEvent, useId, useRef, useState } from 'react'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { FieldErrorText } from '@/components/Field'
import { refreshProjects } from '@/entities/project/projects'
import { call, errorsByField, type Project } from '@/lib/api'
import { useTask } from '@/lib/ui/task'
import { toast } from '@/lib/ui/toast'
import styles from './Project.module.css'
import { ProjectFields } from './ProjectFields'
import { texts } from './texts'

const words = texts.create

/** CreateProject is the dialog to create a project. */
export function CreateProject({
  onCreated,
  onClose,
}: {
  onCreated: (project: Project) => void
  onClose: () => void
}) {
  const [values, setValues] = useState({ name: '', description: '' })
  // Repeated sending creates one project. Changed input after a failure is another request.
  const request = useRef({ of: '', id: '' })
  const [wrong, setWrong] = useState<{ name?: string; description?: string; rest?: string }>({})
  const { busy, run } = useTask()
  const form = useId()
  const set = (next: Partial<typeof values>) => {
    setValues({ ...values, ...next })
    setWrong({})
  }
  const create = async (event: FormEvent) => {
    event.preventDefault()
    if (values.name.trim() === '') return setWrong({ name: words.nameRequired })
    await run(
      async () => {
        const of = JSON.stringify(values)
        if (request.current.of !== of) request.current = { of, id: crypto.randomUUID() }
        const project = await call('createProject', { body: { request_id: request.current.id, ...values } })
        toast(words.created(project.name), { tone: 'success' })
        void refreshProjects()
        onClose()
        onCreated(project)
      },
      (cause) => {
        const nameOf = (field: string) => (field === 'name' || field === 'description' ? field : undefined)
        const { errors, rest } = errorsByField(cause, nameOf)
        setWrong({ ...errors, rest })
      },
    )
  }
  return (
    <ConfirmDialog title={words.title} confirm={words.submit} form={form} busy={busy} onClose={onClose}>
      <form className={styles.body} id={form} noValidate onSubmit={(event) => void create(event)}>
        <ProjectFields values={values} wrong={wrong} onChange={set} />
        <div role="alert">{wrong.rest && <FieldErrorText>{wrong.rest}</FieldErrorText>}</div>
      </form>
    </ConfirmDialog>
  )
}
