import { Star } from 'lucide-react'
import { useId } from 'react'
import { Link } from 'react-router'
import { IconButton } from '@/components/IconButton'
import { SkillIcon } from '@/components/SkillIcon'
import { Skeleton } from '@/components/States'
import { setFavorite } from '@/entities/favorite/favorites'
import { useSkillNote } from '@/entities/skill/skillNote'
import type { Skill } from '@/lib/api'
import styles from './SkillCards.module.css'
import { texts } from './texts'

/** The cards of skills. */
export function SkillCards({ skills }: { skills: readonly Skill[] }) {
  return (
    <ul className={styles.grid}>
      {skills.map((skill) => (
        <Card key={skill.id} skill={skill} />
      ))}
    </ul>
  )
}

function Card({ skill }: { skill: Skill }) {
  const id = useId()
  const note = useSkillNote(skill)
  const favorite = skill.is_favorite
  return (
    <li className={styles.card} data-unavailable={skill.unavailable_reason ? true : undefined}>
      <SkillIcon path={skill.icon_path} size={28} />
      <h3 className={styles.name}>
        <Link to={`/home/skill/${skill.id}`} aria-describedby={id}>
          {skill.name}
        </Link>
      </h3>
      <p className={styles.description} id={id} data-note={note ? true : undefined} title={note}>
        {/* A card has two lines. The skill's page shows the whole note. */}
        {note?.replace(/。.+$/s, '。') ?? skill.description}
      </p>
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

/** A placeholder for the skills. */
export function SkillSkeletons() {
  return (
    <div className={styles.grid} role="status">
      <span className="visually-hidden">{texts.loading}</span>
      {['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'].map((key) => (
        <div className={styles.card} key={key} aria-hidden>
          <Skeleton width={28} height={28} radius={6} />
          <Skeleton className={styles.name} width="56%" height={16} />
          <Skeleton className={styles.description} width="88%" height={34} />
        </div>
      ))}
    </div>
  )
}
