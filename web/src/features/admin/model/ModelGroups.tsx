import { useState } from 'react'
import { Button } from '@/components/Button'
import { Chooser } from '@/components/Chooser'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { groupsQuery } from '@/entities/group/groups'
import type { SkillGroup } from '@/lib/api'
import { models } from '../texts'
import styles from './ModelsPage.module.css'

const words = models.groups

interface ModelGroupsProps {
  readonly model: string
  readonly groups: readonly SkillGroup[]
  readonly disabled: boolean
  readonly onChange: (groups: readonly SkillGroup[]) => void
}

/** ModelGroups shows who may choose a model, and lets administrators choose groups. */
export function ModelGroups({ model, groups, disabled, onChange }: ModelGroupsProps) {
  const [chosen, setChosen] = useState<readonly SkillGroup[] | null>(null)
  const named = (list: readonly SkillGroup[]) =>
    list.map((group) => ({ ...group, name: group.name || words.deleted }))
  const shown =
    groups.length === 0
      ? words.everyone
      : named(groups)
          .map(({ name }) => name)
          .join('、')
  const close = () => setChosen(null)
  return (
    <>
      <Button
        size="sm"
        className={styles.who}
        disabled={disabled}
        aria-label={words.change(model, shown)}
        onClick={() => setChosen(named(groups))}
      >
        <span>{shown}</span>
      </Button>
      {chosen && (
        <ConfirmDialog
          title={words.title(model)}
          confirm={words.apply}
          onConfirm={() => {
            onChange(chosen)
            close()
          }}
          onClose={close}
        >
          <div className={styles.groups}>
            <p>{words.lead}</p>
            <Chooser words={words.chooser} query={groupsQuery} chosen={chosen} onChange={setChosen} />
          </div>
        </ConfirmDialog>
      )}
    </>
  )
}
