import styles from './SkillIcon.module.css'

/** A skill's own icon. Decorative: its name stands beside it. */
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
