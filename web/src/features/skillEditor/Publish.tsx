import { useState } from 'react'
import { Button } from '@/components/Button'
import { Dialog } from '@/components/Dialog'
import { TextArea } from '@/components/Field'
import type { MadeSkill } from '@/lib/api'
import * as made from '@/lib/api/madeSkills'
import { useAction } from './actions'
import { texts } from './texts'

/** Publish requests the publication of a personal skill. */
export function Publish({ skill, onClose }: { skill: MadeSkill; onClose: () => void }) {
  const [note, setNote] = useState('')
  const { busy, act } = useAction()
  const send = async () => {
    await act(() => made.requestSkill(skill.id, note))
    onClose()
  }
  return (
    <Dialog
      title={`${skill.content.name}: ${texts.publish}`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{texts.cancel}</Button>
          <Button variant="primary" loading={busy} onClick={() => void send()}>
            {texts.publish}
          </Button>
        </>
      }
    >
      <p>{texts.publishLead}</p>
      <TextArea
        label={texts.note}
        optional
        rows={3}
        maxLength={1000}
        value={note}
        onChange={(event) => setNote(event.target.value)}
      />
    </Dialog>
  )
}
