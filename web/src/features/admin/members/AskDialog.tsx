import { useQuery } from '@tanstack/react-query'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import type { Member } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { sharedDocumentsQuery } from '../queries'
import { texts } from '../texts'
import { remove, resend, signOut, unlink } from './changes'
import styles from './Dialogs.module.css'

const questions = {
  /** Before removing a member: lists the data that will be deleted. */
  remove: { words: texts.removing, danger: true, act: remove },
  /** Before inviting a member from single sign-on to set a password. */
  password: {
    words: texts.givingPassword,
    danger: false,
    act: (member: Member) => resend(member, 'password'),
  },
  /** Before ending all sessions of a member. */
  'sign-out': { words: texts.signingOut, danger: false, act: signOut },
  /** Before removing a member's link to the identity provider. */
  unlink: { words: texts.unlinking, danger: true, act: unlink },
} as const

interface AskDialogProps {
  question: keyof typeof questions
  member: Member
  onClose: () => void
}

/** Asks for confirmation before an action on a member and explains its consequences. */
export function AskDialog({ question, member, onClose }: AskDialogProps) {
  const { words, danger, act } = questions[question]
  const removes = question === 'remove'
  const shared = useQuery({ ...sharedDocumentsQuery(member.id), enabled: removes }, queryClient)
  return (
    <ConfirmDialog
      title={words.title(member.name)}
      confirm={words.submit}
      danger={danger}
      busy={removes && shared.isPending}
      onClose={onClose}
      onConfirm={() => {
        onClose()
        void act(member)
      }}
    >
      <div className={styles.body}>
        <p>{words.body(member.name, member.email)}</p>
        {removes && shared.isError && <p role="alert">{texts.removing.sharedFailed}</p>}
        {shared.data && shared.data.length > 0 && (
          <>
            <p>{texts.removing.shared}</p>
            <ul>
              {shared.data.map(({ skill_id, skill_name, filenames }) => (
                <li key={skill_id}>{texts.removing.sharedFiles(skill_name, filenames)}</li>
              ))}
            </ul>
          </>
        )}
        <p className={styles.quiet}>{words.hint}</p>
      </div>
    </ConfirmDialog>
  )
}
