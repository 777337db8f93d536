import { type ReactNode, useId } from 'react'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { FieldErrorText } from '@/components/Field'
import type { useForm } from '@/lib/ui/form'
import styles from '../members/Dialogs.module.css'

interface FormDialogProps {
  title: string
  /** The label of the button that submits the form. */
  submit: string
  form: Pick<ReturnType<typeof useForm>, 'busy' | 'rest' | 'form'>
  onClose: () => void
  /** The fields. */
  children: ReactNode
}

/** A dialog with a form of useForm. Render it only while it is open. */
export function FormDialog({ title, submit, form, onClose, children }: FormDialogProps) {
  const id = useId()
  return (
    <ConfirmDialog title={title} confirm={submit} form={id} busy={form.busy} onClose={onClose}>
      <form className={styles.body} id={id} {...form.form}>
        {children}
        <div role="alert">{form.rest && <FieldErrorText>{form.rest}</FieldErrorText>}</div>
      </form>
    </ConfirmDialog>
  )
}
