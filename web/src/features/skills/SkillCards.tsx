import { Star } from 'lucide-react'
import { useId } from 'react'
import { Link } from 'react-router'
import { IconButton } from '@/components/IconButton'
import { SkillIcon } from '@/components/SkillIcon'
import { Skeleton } from '@/components/States'
import { setFavorite } from '@/entities/favorite/favorites'
import { useSkillNote } from '@/entities/skill/skillNote'
import type { Skill } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import styles from './SkillCards.module.css'
import { texts } from './texts'

/** A group of skills. `brief` leaves the descriptions out. */
export function SkillCards({
  title,
  skills,
  brief = false,
}: {
  title: string
  skills: readonly Skill[]
  brief?: boolean
}) {
  const id = useId()
  return (
    <section className={styles.group} aria-labelledby={id}>
      <h2 className={styles.title} id={id}>
        {title}
      </h2>
      <ul className={cx(styles.grid, brief && styles.brief)}>
        {skills.map((skill) =>
          brief ? <BriefCard key={skill.id} skill={skill} /> : <Card key={skill.id} skill={skill} />,
        )}
      </ul>
    </section>
  )
}

function Card({ skill }: { skill: Skill }) {
  const id = useId()
  const note = useSkillNote(skill)
  const favorite = skill.is_favorite
  return (
    <li className={styles.card} data-unavailable={skill.unavailable_reason ? true : undefined}>
      <SkillIcon path={skill.icon_path} size={32} />
      <h3 className={styles.name}>
        <Link to={`/home/skill/${skill.id}`} aria-describedby={id}>
          {skill.name}
        </Link>
      </h3>
      <p className={styles.description} id={id}>
        {skill.description}
      </p>
      {note && <p className={styles.unavailable}>{note}</p>}
      <IconButton
        className={styles.star}
        label={favorite ? texts.unfavorite(skill.name) : texts.favorite(skill.name)}
        data-on={favorite || undefined}
        onClick={() => void setFavorite(skill, !favorite)}
      >
        <Star size={18} fill={favorite ? 'currentColor' : 'none'} />
      </IconButton>
    </li>
  )
}

function BriefCard({ skill }: { skill: Skill }) {
  return (
    <li className={styles.card}>
      <SkillIcon path={skill.icon_path} size={24} />
      <h3 className={styles.name}>
        <Link to={`/home/skill/${skill.id}`}>{skill.name}</Link>
      </h3>
    </li>
  )
}

/** A placeholder for the skills. */
export function SkillSkeletons() {
  return (
    <div className={styles.grid} role="status">
      <span className="visually-hidden">{texts.loading}</span>
      {['a', 'b', 'c', 'd', 'e', 'f'].map((key) => (
        <div className={styles.card} key={key} aria-hidden>
          <Skeleton width={32} height={32} radius={6} />
          <Skeleton className={styles.name} width="56%" height={16} />
          <Skeleton className={styles.description} width="88%" height={34} />
        </div>
      ))}
    </div>
  )
}
