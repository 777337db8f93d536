import styles from './Context.module.css'
import { texts } from './texts'

const words = texts.context

/** Context describes the product in a few words. */
export function Context() {
  return (
    <div className={styles.context}>
      <p className={styles.headline}>
        {words.headline.map((line) => (
          <span key={line}>{line}</span>
        ))}
      </p>
      <ul className={styles.points}>
        {words.points.map(({ title, body }) => (
          <li key={title}>
            <strong>{title}</strong>
            {body}
          </li>
        ))}
      </ul>
    </div>
  )
}
