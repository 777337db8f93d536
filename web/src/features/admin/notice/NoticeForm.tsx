import { type FormEvent, useEffect, useRef, useState } from 'react'
import { useNavigate } from 'react-router'
import { Button, ButtonLink } from '@/components/Button'
import { FieldErrorText } from '@/components/Field'
import type { ManagedNotice, NoticeDraft } from '@/lib/api'
import { addNotice, editNotice } from '@/lib/api/notices'
import { reload } from '@/lib/api/queries'
import { toast } from '@/lib/ui/toast'
import { UnsavedGuard } from '../parts/UnsavedGuard'
import { texts } from '../texts'
import { NoticeFields } from './fields'
import styles from './Notice.module.css'
import { checkValues, initialValues, type NoticeErrors, requestOf, same, serverErrors } from './noticeForm'
import { Preview } from './Preview'

const words = texts.notice

/** A form to write a new notice, to copy one or to change one. */
export function NoticeForm({ notice: loaded, copied }: { notice?: ManagedNotice; copied?: boolean }) {
  // The form keeps the notice as it was when it was opened.
  const [notice] = useState(copied ? undefined : loaded)
  const [opened] = useState(() => initialValues(loaded, copied))
  const [values, setValues] = useState(opened)
  const [errors, setErrors] = useState<NoticeErrors>({})
  const [rest, setRest] = useState('')
  const [busy, setBusy] = useState(false)
  const [failures, setFailures] = useState(0)
  const saved = useRef(false)
  const form = useRef<HTMLFormElement>(null)
  const store = useStore(notice)
  const navigate = useNavigate()
  const way = notice?.state === 'published' ? 'save' : values.from === '' ? 'now' : 'later'

  // After rendering, so that the fields show their errors.
  useEffect(() => {
    if (failures > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [failures])

  const fail = (next: NoticeErrors, other = '') => {
    setErrors(next)
    setRest(other)
    setBusy(false)
    setFailures(failures + 1)
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (busy) return
    const wrong = checkValues(values, notice)
    if (Object.keys(wrong).length > 0) return fail(wrong)
    setBusy(true)
    try {
      await store(requestOf(values, notice))
      toast(words.done[way], { tone: 'success' })
      saved.current = true
      void reload(['admin', 'notices'])
      void navigate('/admin/notice')
    } catch (cause) {
      const { errors: fields, rest: other } = serverErrors(cause)
      fail(fields, other)
    }
  }
  return (
    <div className={styles.columns}>
      <form className={styles.form} ref={form} noValidate onSubmit={(event) => void submit(event)}>
        <NoticeFields
          notice={notice}
          values={values}
          errors={errors}
          onChange={(next) => {
            setValues({ ...values, ...next })
            setErrors({
              ...errors,
              ...Object.fromEntries(Object.keys(next).map((name) => [name, undefined])),
            })
            setRest('')
          }}
        />
        <div role="alert">{rest !== '' && <FieldErrorText>{rest}</FieldErrorText>}</div>
        <div className={styles.actions}>
          <Button type="submit" variant="primary" size="lg" loading={busy}>
            {words.submit[way]}
          </Button>
          <ButtonLink to="/admin/notice" variant="quiet" size="lg">
            {texts.common.cancel}
          </ButtonLink>
        </div>
        <UnsavedGuard dirty={!same(values, opened)} released={saved} words={words.unsaved} />
      </form>
      <Preview values={values} />
    </div>
  )
}

// Repeated sending adds a new notice once. Changed input after a failure is another request.
function useStore(notice: ManagedNotice | undefined): (draft: NoticeDraft) => Promise<ManagedNotice> {
  const request = useRef({ of: '', id: '' })
  return (draft) => {
    if (notice !== undefined) return editNotice(notice.id, draft)
    const of = JSON.stringify(draft)
    if (request.current.of !== of) request.current = { of, id: crypto.randomUUID() }
    return addNotice(draft, request.current.id)
  }
}
