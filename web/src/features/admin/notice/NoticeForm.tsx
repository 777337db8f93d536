import { useRef, useState } from 'react'
import { useNavigate } from 'react-router'
import { Button, ButtonLink } from '@/components/Button'
import { FieldErrorText } from '@/components/Field'
import { UnsavedGuard } from '@/components/UnsavedGuard'
import { call, type ManagedNotice, type NoticeDraft } from '@/lib/api'
import { reload } from '@/lib/api/queries'
import { useRequestId } from '@/lib/api/useRequestId'
import { useForm } from '@/lib/ui/form'
import { toast } from '@/lib/ui/toast'
import { common, notice as words } from '../texts'
import { NoticeFields } from './fields'
import styles from './Notice.module.css'
import { checkValues, initialValues, type NoticeValues, requestOf, same, serverErrors } from './noticeForm'
import { Preview } from './Preview'

/** A form to write a new notice, to copy one or to change one. */
export function NoticeForm({ notice: loaded, copied }: { notice?: ManagedNotice; copied?: boolean }) {
  // The form keeps the notice as it was when it was opened.
  const [notice] = useState(copied ? undefined : loaded)
  const [opened] = useState(() => initialValues(loaded, copied))
  const saved = useRef(false)
  const store = useStore(notice)
  const navigate = useNavigate()
  const wayOf = ({ from }: NoticeValues) =>
    notice?.state === 'published' ? 'save' : from === '' ? 'now' : 'later'
  const { values, errors, rest, busy, change, form } = useForm<NoticeValues>({
    initial: () => opened,
    check: (next) => checkValues(next, notice),
    send: async (next) => {
      await store(requestOf(next, notice))
      toast(words.done[wayOf(next)], { tone: 'success' })
      saved.current = true
      void reload(['admin', 'listOrganizationNotifications'])
      void navigate('/admin/notice')
    },
    explain: serverErrors,
  })
  return (
    <div className={styles.columns}>
      <form className={styles.form} {...form}>
        <NoticeFields notice={notice} values={values} errors={errors} onChange={change} />
        <div role="alert">{rest !== '' && <FieldErrorText>{rest}</FieldErrorText>}</div>
        <div className={styles.actions}>
          <Button type="submit" variant="primary" size="lg" loading={busy}>
            {words.submit[wayOf(values)]}
          </Button>
          <ButtonLink to="/admin/notice" variant="quiet" size="lg">
            {common.cancel}
          </ButtonLink>
        </div>
        <UnsavedGuard dirty={!same(values, opened)} released={saved} />
      </form>
      <Preview values={values} />
    </div>
  )
}

function useStore(notice: ManagedNotice | undefined): (draft: NoticeDraft) => Promise<ManagedNotice> {
  const requestId = useRequestId()
  return (draft) => {
    if (notice !== undefined) return call('editNotification', { notification_id: notice.id, body: draft })
    return call('addNotification', { body: { ...draft, request_id: requestId(draft) } })
  }
}
