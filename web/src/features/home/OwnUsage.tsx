import { useQuery } from '@tanstack/react-query'
import { Meter } from '@/components/Meter'
import { ownUsageQuery } from '@/lib/api/queries'
import styles from './Header.module.css'
import { texts } from './texts'

const words = texts.menu.usage

/** OwnUsage shows the user's usage in this month and the time of its reset. It renders nothing until it is loaded. */
export function OwnUsage() {
  const { data } = useQuery(ownUsageQuery)
  if (data === undefined) return <p className={styles.usage} aria-hidden />
  const { messages, input_tokens, output_tokens, token_limit, resets_on } = data
  const tokens = input_tokens + output_tokens
  return (
    <div className={styles.usage}>
      <span>{words.label}</span>
      <span>{words.used(messages, tokens, token_limit)}</span>
      {token_limit !== undefined && <Meter label={words.limit} used={tokens} limit={token_limit} />}
      <span>{words.resets(resets_on)}</span>
      {token_limit !== undefined && tokens >= token_limit && <span>{words.reached}</span>}
    </div>
  )
}
