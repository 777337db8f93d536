import { CopyIconButton } from '@/components/CopyButton'
import { copyText } from '@/lib/browser/clipboard'
import { common } from '../texts'
import styles from './CopyValue.module.css'
import { Fact } from './Page'

/** A value to copy exactly to another system. Its lines do not wrap, but scroll. */
export function CopyValue({ label, value }: { label: string; value: string }) {
  return (
    <span className={styles.value}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a line that scrolls must be reachable by keyboard. */}
      <code tabIndex={0}>{value}</code>
      <CopyIconButton label={common.copyLabel(label)} copy={() => copyText(value)} />
    </span>
  )
}

/** One name and its value, which can be copied. */
export function CopyFact({ name, value }: { name: string; value: string }) {
  return (
    <Fact name={name}>
      <CopyValue label={name} value={value} />
    </Fact>
  )
}
