import { ChevronDown, Star } from 'lucide-react'
import { useRef, useState } from 'react'
import { Link } from 'react-router'
import { IconButton } from '@/components/IconButton'
import { Popover } from '@/components/Popover'
import { SkillIcon } from '@/components/SkillIcon'
import { RetryNote } from '@/components/States'
import { favoritesQuery } from '@/entities/favorite/favorites'
import { useList } from '@/lib/api/lists'
import { useListEnd } from '@/lib/ui/scrollTrigger'
import styles from './Favorites.module.css'
import header from './Header.module.css'
import { texts } from './texts'

/** Favorites is the dropdown with the user's favourite skills. It reloads them each time it opens. */
export function Favorites({ compact }: { compact: boolean }) {
  const [open, setOpen] = useState(false)
  return (
    <Popover
      label={texts.favorites.label}
      open={open}
      onOpenChange={setOpen}
      align={compact ? 'end' : 'start'}
      className={styles.panel}
      trigger={
        compact ? (
          <IconButton label={texts.favorites.label}>
            <Star size={18} />
          </IconButton>
        ) : (
          <button type="button" className={header.item}>
            {texts.favorites.label}
            <ChevronDown className={header.chevron} size={14} aria-hidden />
          </button>
        )
      }
    >
      <FavoriteGrid onChoose={() => setOpen(false)} />
    </Popover>
  )
}

function FavoriteGrid({ onChoose }: { onChoose: () => void }) {
  const list = useList(favoritesQuery)
  const { items, loading, error, loaded, retry } = list
  const root = useRef<HTMLDivElement>(null)
  const sentinel = useListEnd(root, list, true)
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable by keyboard.
    <div className={styles.scroller} ref={root} tabIndex={0} role="group" aria-label={texts.favorites.label}>
      {items.length > 0 && (
        <ul className={styles.grid}>
          {items.map((skill) => (
            <li key={skill.id}>
              <Link className={styles.skill} to={`/home/skill/${skill.id}`} onClick={onChoose}>
                <SkillIcon path={skill.icon_path} size={32} />
                <span>{skill.name}</span>
              </Link>
            </li>
          ))}
        </ul>
      )}
      {error && <RetryNote className={styles.note} onRetry={retry} />}
      {loading && <p className={styles.note}>{texts.favorites.loading}</p>}
      {loaded && items.length === 0 && (
        <div className={styles.empty}>
          <Star size={20} aria-hidden />
          <p>{texts.favorites.empty}</p>
          <p>{texts.favorites.hint}</p>
        </div>
      )}
      <div ref={sentinel} />
    </div>
  )
}
