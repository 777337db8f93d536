import { useQuery } from '@tanstack/react-query'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import type { Member, MemberRemoval } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { removalQuery } from '../queries'
import { givingPassword, removing, resettingFactor, signingOut, unlinking } from '../texts'
import { remove, resend, resetFactor, signOut, unlink } from './changes'
import styles from './Dialogs.module.css'

const questions = {
  /** Before removing a member: lists the data that will be deleted. */
  remove: { words: removing, danger: true, act: remove },
  /** Before inviting a member from single sign-on to set a password. */
  password: {
    words: givingPassword,
    danger: false,
    act: (member: Member) => resend(member, 'password'),
  },
  /** Before ending all sessions of a member. */
  'sign-out': { words: signingOut, danger: false, act: signOut },
  /** Before removing a member's link to the identity provider. */
  unlink: { words: unlinking, danger: true, act: unlink },
  /** Before resetting a member's second factor. */
  'reset-factor': { words: resettingFactor, danger: true, act: resetFactor },
} as const

export type Question = keyof typeof questions

interface AskDialogProps {
  question: Question
  member: Member
  onClose: () => void
}

/** Asks for confirmation before an action on a member and explains its consequences. */
export function AskDialog({ question, member, onClose }: AskDialogProps) {
  const { words, danger, act } = questions[question]
  const removes = question === 'remove'
  const removal = useQuery({ ...removalQuery(member.id), enabled: removes }, queryClient)
  return (
    <ConfirmDialog
      title={words.title(member.name)}
      confirm={words.submit}
      danger={danger}
      busy={removes && removal.isPending}
      onClose={onClose}
      onConfirm={() => {
        onClose()
        void act(member)
      }}
    >
      <div className={styles.body}>
        <p>{words.body(member.name, member.email)}</p>
        {removes && removal.isError && <p role="alert">{removing.failed}</p>}
        {removes && !removal.isError && <Consequences removal={removal.data} />}
        <p className={styles.quiet}>{words.hint}</p>
      </div>
    </ConfirmDialog>
  )
}

const nothing: MemberRemoval = { threads: 0, files: 0, skills: 0, shares: 0, kept: [] }

/** Lists which data of a member are deleted, and which remain. Until they are known, the lines take up their space. */
function Consequences({ removal = nothing }: { removal: MemberRemoval | undefined }) {
  const words = removing
  return (
    <>
      <ul className={styles.consequences} data-waits={removal === nothing || undefined}>
        {words.deleted(removal).map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
      <p>{words.left}</p>
      {removal.kept.length > 0 && (
        <>
          <p>{words.kept}</p>
          <ul className={styles.consequences}>
            {removal.kept.map(({ skill_id, skill_name, filenames }) => (
              <li key={skill_id}>{words.keptFiles(skill_name, filenames)}</li>
            ))}
          </ul>
        </>
      )}
    </>
  )
}
