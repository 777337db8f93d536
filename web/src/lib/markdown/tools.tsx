import { Check, Copy, Download } from 'lucide-react'
import { download } from '@/lib/browser/download'
import { useBrief } from '@/lib/ui/brief'
import { texts } from './texts'
import styles from './tools.module.css'

/** Copies the content, and shows for two seconds whether that succeeded. */
export function CopyButton({ label, copy }: { label?: string; copy: () => Promise<void> }) {
  const [said = '', setSaid] = useBrief<string>()
  const onClick = () => {
    copy().then(
      () => setSaid(texts.copied),
      () => setSaid(texts.copyFailed),
    )
  }
  const Icon = said === texts.copied ? Check : Copy
  return (
    <button
      type="button"
      className={styles.tool}
      onClick={onClick}
      aria-label={said === '' ? label : undefined}
      data-print="hide"
    >
      <Icon size={14} strokeWidth={1.75} aria-hidden="true" />
      <span aria-live="polite">{said || texts.copy}</span>
    </button>
  )
}

interface SaveProps {
  readonly label: string
  readonly text: string
  readonly file: {
    readonly name: string
    readonly type: string
    readonly body: () => string | Promise<string | Blob>
  }
}

/** Saves a file, or shows for two seconds that it failed. */
export function SaveButton({ label, text, file }: SaveProps) {
  const [said = '', say] = useBrief<string>()
  const onClick = async () => {
    try {
      download(file.name, await file.body(), file.type)
    } catch {
      say(texts.saveFailed)
    }
  }
  return (
    <button
      type="button"
      className={styles.tool}
      onClick={() => void onClick()}
      aria-label={said === '' ? label : undefined}
      data-print="hide"
    >
      <Download size={14} strokeWidth={1.75} aria-hidden="true" />
      <span aria-live="polite">{said || text}</span>
    </button>
  )
}
