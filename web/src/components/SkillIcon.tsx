import styles from './SkillIcon.module.css'

/** A skill's icon. Decorative: its name is next to it. */
export function SkillIcon({ path, size = 24 }: { path: string; size?: number }) {
  return (
    <img
      className={styles.icon}
      src={path}
      width={size}
      height={size}
      alt=""
      loading="lazy"
      decoding="async"
    />
  )
}
