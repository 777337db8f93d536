import { CopyIconButton } from '@/components/CopyButton'
import { copyText } from '@/lib/browser/clipboard'
import { texts } from '../texts'
import styles from './CopyValue.module.css'

/** A value to copy exactly to another system. */
export function CopyValue({ label, value }: { label: string; value: string }) {
  return (
    <span className={styles.value}>
      <code>{value}</code>
      <CopyIconButton label={texts.common.copyLabel(label)} copy={() => copyText(value)} />
    </span>
  )
}
