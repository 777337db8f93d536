import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import type { Member } from '@/lib/api'
import { texts } from '../texts'
import { resend } from './changes'
import styles from './Dialogs.module.css'

const words = texts.givingPassword

/** Asks before somebody whom single sign-on has added is invited to a password. */
export function PasswordDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  return (
    <Dialog
      title={words.title(member.name)}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{texts.common.cancel}</Button>
          <Button
            variant="primary"
            onClick={() => {
              onClose()
              void resend(member, 'password')
            }}
          >
            {words.submit}
          </Button>
        </>
      }
    >
      <div className={styles.body}>
        <p>{words.body(member.name, member.email)}</p>
        <p className={styles.quiet}>{words.hint}</p>
      </div>
    </Dialog>
  )
}
