import styles from './SkillIcon.module.css'

/** A skill's icon. Decorative: its name is next to it. The build combines the app's own icons in one file. */
export function SkillIcon({ path, size = 24 }: { path: string; size?: number }) {
  return (
    <img
      className={styles.icon}
      src={path.replace(/^\/icons\/skills\/(.+)\.svg$/, '/icons/skills.svg#$1')}
      width={size}
      height={size}
      alt=""
      loading="lazy"
      decoding="async"
    />
  )
}
