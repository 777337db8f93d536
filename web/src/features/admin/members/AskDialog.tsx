import { useQuery } from '@tanstack/react-query'
import type { Member } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { ConfirmDialog } from '../parts/ConfirmDialog'
import { sharedDocumentsQuery } from '../queries'
import { texts } from '../texts'
import { remove, resend, signOut, unlink } from './changes'
import styles from './Dialogs.module.css'

const questions = {
  /** Before a member is removed: what is deleted with them. */
  remove: { words: texts.removing, danger: true, act: remove },
  /** Before a member whom single sign-on has added is invited to a password. */
  password: {
    words: texts.givingPassword,
    danger: false,
    act: (member: Member) => resend(member, 'password'),
  },
  /** Before all sessions of a member end. */
  'sign-out': { words: texts.signingOut, danger: false, act: signOut },
  /** Before the identity provider's name for a member is forgotten. */
  unlink: { words: texts.unlinking, danger: true, act: unlink },
} as const

interface AskDialogProps {
  question: keyof typeof questions
  member: Member
  onClose: () => void
}

/** Asks for confirmation before an action on a member, and names its consequences. */
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
