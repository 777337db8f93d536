import { useQuery } from '@tanstack/react-query'
import { useNavigate } from 'react-router'
import { Button } from '@/components/Button'
import { SkillIcon } from '@/components/SkillIcon'
import { call, type Skill } from '@/lib/api'
import { skillsQuery } from '@/lib/api/queries'
import { useAction, useCopy } from './actions'
import styles from './Library.module.css'
import { hiddenQuery } from './queries'
import { texts } from './texts'

/** Standard lists the skills that every organization has. Users can copy them; administrators can also hide them. */
export function Standard({ admin }: { admin: boolean }) {
  const offered = useQuery(skillsQuery).data ?? []
  const hidden = useQuery({ ...hiddenQuery, enabled: admin }).data ?? []
  return (
    <ul className={styles.list}>
      {hidden.map((skill) => (
        <Line key={skill.id} skill={skill} admin={admin} hidden />
      ))}
      {offered
        .filter(({ origin }) => origin === 'standard')
        .map((skill) => (
          <Line key={skill.id} skill={skill} admin={admin} hidden={false} />
        ))}
    </ul>
  )
}

function Line({ skill, admin, hidden }: { skill: Skill; admin: boolean; hidden: boolean }) {
  const navigate = useNavigate()
  const { busy, act } = useAction()
  const makeCopy = useCopy(skill.id)
  const copy = (audience: 'self' | 'organization') =>
    act(async () => {
      const done = await makeCopy(audience)
      void navigate(`/home/skill/${done.id}/edit`)
    })
  const hide = () => call('hideSkill', { skill_id: skill.id, body: { hidden: !hidden } })
  return (
    <li className={styles.line}>
      <SkillIcon path={skill.icon_path} size={32} />
      <div>
        <h2>{skill.name}</h2>
        <p>{hidden ? texts.isHidden : skill.description}</p>
      </div>
      <div className={styles.actions}>
        <Button size="sm" loading={busy} onClick={() => void copy('self')}>
          {texts.copyOwn}
        </Button>
        {admin && (
          <>
            <Button size="sm" onClick={() => void copy('organization')}>
              {texts.copyOrganization}
            </Button>
            <Button size="sm" onClick={() => void act(hide)}>
              {hidden ? texts.show : texts.hide}
            </Button>
          </>
        )}
      </div>
    </li>
  )
}
