import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import type { Member } from '@/lib/api'
import { texts } from '../texts'
import { remove } from './changes'
import styles from './Dialogs.module.css'

const words = texts.removing

/** Asks before a member is removed, and says what goes with them. */
export function RemoveDialog({ member, onClose }: { member: Member; onClose: () => void }) {
  return (
    <Dialog
      title={words.title(member.name)}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{texts.common.cancel}</Button>
          <Button
            variant="danger"
            onClick={() => {
              onClose()
              void remove(member)
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
