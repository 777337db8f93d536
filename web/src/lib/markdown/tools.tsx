import { Check, Copy, Download, type LucideIcon } from 'lucide-react'
import type { ComponentPropsWithRef } from 'react'
import { download } from '@/lib/browser/download'
import { useBrief } from '@/lib/ui/brief'
import { texts } from './texts'
import styles from './tools.module.css'

/** A small button of a code block, a table or a diagram. */
export function ToolButton({
  Icon,
  children,
  ...rest
}: { Icon: LucideIcon } & ComponentPropsWithRef<'button'>) {
  return (
    <button type="button" className={styles.tool} {...rest}>
      <Icon size={14} strokeWidth={1.75} aria-hidden="true" />
      {children}
    </button>
  )
}

/** A button whose text is replaced for two seconds by the result of its action. */
function ResultButton({
  Icon,
  label,
  text,
  said = '',
  onClick,
}: {
  Icon: LucideIcon
  label: string | undefined
  text: string
  said: string | undefined
  onClick: () => void
}) {
  return (
    <ToolButton Icon={Icon} onClick={onClick} aria-label={said === '' ? label : undefined} data-print="hide">
      <span aria-live="polite">{said || text}</span>
    </ToolButton>
  )
}

/** Copies the content, and shows for two seconds whether that succeeded. */
export function CopyButton({ label, copy }: { label?: string; copy: () => Promise<void> }) {
  const [said, setSaid] = useBrief<string>()
  const onClick = () => {
    copy().then(
      () => setSaid(texts.copied),
      () => setSaid(texts.copyFailed),
    )
  }
  const Icon = said === texts.copied ? Check : Copy
  return <ResultButton Icon={Icon} label={label} text={texts.copy} said={said} onClick={onClick} />
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
  const [said, say] = useBrief<string>()
  const onClick = async () => {
    try {
      download(file.name, await file.body(), file.type)
    } catch {
      say(texts.saveFailed)
    }
  }
  return <ResultButton Icon={Download} label={label} text={text} said={said} onClick={() => void onClick()} />
}
