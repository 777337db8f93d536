import { useState } from 'react'
import { Link } from 'react-router'
import { Button } from '@/components/Button'
import { SkillIcon } from '@/components/SkillIcon'
import { call, type MadeSkill } from '@/lib/api'
import { download } from '@/lib/browser/download'
import { formatDate } from '@/lib/ui/dates'
import { useAction, useCopy } from './actions'
import styles from './Library.module.css'
import { Publish } from './Publish'
import { texts } from './texts'

/** ShelfLine is a skill of a shelf. */
export function ShelfLine({ skill, shelf }: { skill: MadeSkill; shelf: 'own' | 'organization' }) {
  const [asking, setAsking] = useState(false)
  const { busy, act } = useAction()
  const copy = useCopy(skill.id)
  const { id, content, request } = skill
  const of = { skill_id: id }
  const save = () =>
    act(async () => download(`${content.name}.yaml`, await call('exportSkill', of), 'application/yaml'))
  return (
    <li className={styles.line}>
      <SkillIcon path={skill.icon_path} size={32} />
      <div>
        <h2>{skill.archived ? content.name : <Link to={`/home/skill/${id}`}>{content.name}</Link>}</h2>
        <p>{texts.saved(skill.updated_by, formatDate(skill.updated_at))}</p>
        {skill.missing_documents > 0 && <p>{texts.missing(skill.missing_documents)}</p>}
        {request && (
          <p>
            {texts.state[request.state]}
            {request.state === 'rejected' && `（${texts.rejectedFor(request.reason)}）`}
          </p>
        )}
      </div>
      <div className={styles.actions}>
        {skill.archived ? (
          <Button size="sm" onClick={() => void act(() => call('restoreSkill', of))}>
            {texts.restore}
          </Button>
        ) : (
          <>
            <Link
              className={styles.edit}
              to={`/home/skill/${id}/edit`}
              aria-label={`${content.name}を${texts.edit}`}
            >
              {texts.edit}
            </Link>
            <Button
              size="sm"
              loading={busy}
              onClick={() => void act(() => copy(shelf === 'own' ? 'self' : 'organization'))}
            >
              {texts.copy}
            </Button>
            <Button size="sm" onClick={() => void save()}>
              {texts.exportFile}
            </Button>
            {shelf === 'own' &&
              (request?.state === 'pending' ? (
                <Button size="sm" onClick={() => void act(() => call('withdrawSkillRequest', of))}>
                  {texts.withdraw}
                </Button>
              ) : (
                <Button size="sm" onClick={() => setAsking(true)}>
                  {texts.publish}
                </Button>
              ))}
            <Button size="sm" onClick={() => void act(() => call('archiveSkill', of))}>
              {texts.archive}
            </Button>
          </>
        )}
      </div>
      {asking && <Publish skill={skill} onClose={() => setAsking(false)} />}
    </li>
  )
}
