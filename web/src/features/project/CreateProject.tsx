import { useId } from 'react'
import { useNavigate } from 'react-router'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { FieldErrorText } from '@/components/Field'
import { refreshProjects } from '@/entities/project/projects'
import { call, errorsByField } from '@/lib/api'
import { useRequestId } from '@/lib/api/useRequestId'
import { useForm } from '@/lib/ui/form'
import { toast } from '@/lib/ui/toast'
import styles from './Project.module.css'
import { ProjectFields } from './ProjectFields'
import { texts } from './texts'

const words = texts.create

/** CreateProject is the dialog to create a project. It opens the new project. */
export function CreateProject({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate()
  const requestId = useRequestId()
  const id = useId()
  const { values, errors, rest, busy, change, form } = useForm({
    initial: () => ({ name: '', description: '' }),
    check: ({ name }) => (name.trim() === '' ? { name: words.nameRequired } : {}),
    send: async (values) => {
      const project = await call('createProject', { body: { request_id: requestId(values), ...values } })
      toast(words.created(project.name), { tone: 'success' })
      void refreshProjects()
      onClose()
      void navigate(`/home/project/${project.id}`)
    },
    explain: (cause) =>
      errorsByField(cause, (field) => (field === 'name' || field === 'description' ? field : undefined)),
  })
  return (
    <ConfirmDialog title={texts.list.create} confirm={words.submit} form={id} busy={busy} onClose={onClose}>
      <form className={styles.body} id={id} {...form}>
        <ProjectFields values={values} wrong={errors} onChange={change} />
        <div role="alert">{rest && <FieldErrorText>{rest}</FieldErrorText>}</div>
      </form>
    </ConfirmDialog>
  )
}
