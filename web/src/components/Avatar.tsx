import styles from './Avatar.module.css'

/**
 * The first grapheme cluster, including combining marks and multi-code-point emoji and flags. Intl.Segmenter is more
 * precise, but would load its rules for a single letter while the first page waits.
 */
const first = /^(?:\p{RI}{2}|.(?:[\p{M}\p{Emoji_Modifier}]|\u200d.)*)/su

/** The first character of a name. Decorative: the name is next to it or in the button's label. */
export function Avatar({ name, size = 32 }: { name: string; size?: number }) {
  return (
    <span
      className={styles.avatar}
      style={{ width: size, height: size, fontSize: size * 0.42 }}
      aria-hidden="true"
    >
      {first.exec(name.trim())?.[0].toUpperCase()}
    </span>
  )
}
