import { useState } from 'react'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { TextArea } from '@/components/Field'
import { call, type MadeSkill } from '@/lib/api'
import { useAction } from './actions'
import styles from './Library.module.css'
import { texts } from './texts'

/** Publish requests the publication of a personal skill. */
export function Publish({ skill, onClose }: { skill: MadeSkill; onClose: () => void }) {
  const [note, setNote] = useState('')
  const { busy, act } = useAction()
  const send = () =>
    act(async () => {
      await call('requestSkill', { skill_id: skill.id, body: { note } })
      onClose()
    })
  return (
    <ConfirmDialog
      title={`${skill.content.name}：${texts.publish}`}
      confirm={texts.publish}
      busy={busy}
      onConfirm={() => void send()}
      onClose={onClose}
    >
      <div className={styles.dialog}>
        <p>{texts.publishLead}</p>
        <TextArea
          label={texts.note}
          optional
          rows={3}
          maxLength={1000}
          value={note}
          onChange={(event) => setNote(event.target.value)}
        />
      </div>
    </ConfirmDialog>
  )
}
