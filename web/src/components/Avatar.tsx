import styles from './Avatar.module.css'

/** The first character of a name. Decorative: the name stands beside it or in the button's label. */
export function Avatar({ name, size = 32 }: { name: string; size?: number }) {
  const first = new Intl.Segmenter('ja', { granularity: 'grapheme' })
    .segment(name.trim())
    [Symbol.iterator]()
    .next()
  return (
    <span
      className={styles.avatar}
      style={{ width: size, height: size, fontSize: size * 0.42 }}
      aria-hidden="true"
    >
      {first.done ? '' : first.value.segment.toUpperCase()}
    </span>
  )
}
