import { Check, Copy, Download } from 'lucide-react'
import { useEffect, useState } from 'react'
import { download } from '@/lib/browser/download'
import styles from './markdown.module.css'
import { texts } from './texts'

/** Copies what it is given to copy, and says for two seconds whether it could. */
export function CopyButton({ label, copy }: { label?: string; copy: () => Promise<void> }) {
  const [said, setSaid] = useState('')
  useEffect(() => {
    if (said === '') return
    const timer = setTimeout(() => setSaid(''), 2000)
    return () => clearTimeout(timer)
  }, [said])
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
  readonly file: { readonly name: string; readonly type: string; readonly body: () => string }
}

/** Saves a file. */
export function SaveButton({ label, text, file }: SaveProps) {
  return (
    <button
      type="button"
      className={styles.tool}
      onClick={() => download(file.name, file.body(), file.type)}
      aria-label={label}
      data-print="hide"
    >
      <Download size={14} strokeWidth={1.75} aria-hidden="true" />
      <span>{text}</span>
    </button>
  )
}
