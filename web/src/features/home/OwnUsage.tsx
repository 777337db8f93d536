import { useQuery } from '@tanstack/react-query'
import { ownUsageQuery } from '@/lib/api/queries'
import styles from './Header.module.css'
import { texts } from './texts'

const words = texts.menu.usage

/** The user's usage in this month, and when it resets. Shows nothing until it is loaded. */
export function OwnUsage() {
  const { data } = useQuery(ownUsageQuery)
  if (data === undefined) return <p className={styles.usage} aria-hidden />
  const { messages, input_tokens, output_tokens, resets_on } = data
  return (
    <p className={styles.usage}>
      <span>{words.label}</span>
      <span>{words.used(messages, input_tokens + output_tokens)}</span>
      <span>{words.resets(resets_on)}</span>
    </p>
  )
}
