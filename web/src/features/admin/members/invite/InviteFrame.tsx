import type { ReactNode } from 'react'
import { Dialog } from '@/components/Dialog'
import type { Me } from '@/lib/api'
import { inviting as words } from '../../texts'
import styles from '../Dialogs.module.css'

/** The properties of both forms in the dialog. */
export interface InviteProps {
  me: Me
  /** The number of free seats; undefined while unknown. */
  seatsLeft: number | undefined
  onClose: () => void
}

/** The frame of both forms. */
export function InviteFrame({
  wide = false,
  ways,
  actions,
  onClose,
  children,
}: {
  wide?: boolean
  ways: ReactNode
  actions: ReactNode
  onClose: () => void
  children: ReactNode
}) {
  return (
    <Dialog title={words.title} wide={wide} onClose={onClose} actions={actions}>
      <div className={styles.body}>
        <p className={styles.quiet}>{words.lead}</p>
        {ways}
        {children}
      </div>
    </Dialog>
  )
}
