import { type FormEvent, useId, useState } from 'react'
import { useNavigate } from 'react-router'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { FieldErrorText } from '@/components/Field'
import { refreshProjects } from '@/entities/project/projects'
import { call, errorsByField } from '@/lib/api'
import { useRequestId } from '@/lib/api/useRequestId'
import { useTask } from '@/lib/ui/task'
import { toast } from '@/lib/ui/toast'
import styles from './Project.module.css'
import { ProjectFields } from './ProjectFields'
import { texts } from './texts'

const words = texts.create

/** CreateProject is the dialog to create a project. It opens the new project. */
export function CreateProject({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate()
  const [values, setValues] = useState({ name: '', description: '' })
  const requestId = useRequestId()
  const [wrong, setWrong] = useState<{ name?: string; description?: string; rest?: string }>({})
  const { busy, run } = useTask()
  const form = useId()
  const create = async (event: FormEvent) => {
    event.preventDefault()
    if (values.name.trim() === '') return setWrong({ name: words.nameRequired })
    await run(
      async () => {
        const project = await call('createProject', { body: { request_id: requestId(values), ...values } })
        toast(words.created(project.name), { tone: 'success' })
        void refreshProjects()
        onClose()
        void navigate(`/home/project/${project.id}`)
      },
      (cause) => {
        const nameOf = (field: string) => (field === 'name' || field === 'description' ? field : undefined)
        const { errors, rest } = errorsByField(cause, nameOf)
        setWrong({ ...errors, rest })
      },
    )
  }
  return (
    <ConfirmDialog title={texts.list.create} confirm={words.submit} form={form} busy={busy} onClose={onClose}>
      <form className={styles.body} id={form} noValidate onSubmit={(event) => void create(event)}>
        <ProjectFields
          values={values}
          wrong={wrong}
          onChange={(change) => {
            setValues({ ...values, ...change })
            setWrong({})
          }}
        />
        <div role="alert">{wrong.rest && <FieldErrorText>{wrong.rest}</FieldErrorText>}</div>
      </form>
    </ConfirmDialog>
  )
}
