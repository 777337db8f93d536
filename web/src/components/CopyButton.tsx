import { Check, Copy } from 'lucide-react'
import type { ReactNode } from 'react'
import { useBrief } from '@/lib/ui/brief'
import { toastFailure } from '@/lib/ui/toast'
import { Button, type ButtonProps } from './Button'
import { IconButton } from './IconButton'

const texts = {
  copied: 'コピーしました',
  failed: 'コピーできませんでした。選択してコピーしてください。',
} as const

interface CopyProps {
  /** Writes to the clipboard. */
  copy: () => Promise<void>
}

/** A button with a text that copies, and shows ✓ for two seconds. A failure is reported as a toast. */
export function CopyButton({
  copy,
  children,
  ...rest
}: CopyProps & Pick<ButtonProps, 'variant' | 'size' | 'disabled' | 'className'> & { children: ReactNode }) {
  const { copied, run } = useCopy(copy)
  const Icon = copied ? Check : Copy
  return (
    <>
      <Button {...rest} onClick={run}>
        <Icon size={15} aria-hidden />
        {children}
      </Button>
      <Copied copied={copied} />
    </>
  )
}

/** A button with only an icon that copies, and shows ✓ for two seconds. A failure is reported as a toast. */
export function CopyIconButton({ copy, label }: CopyProps & { label: string }) {
  const { copied, run } = useCopy(copy)
  return (
    <>
      <IconButton size="sm" label={label} onClick={run}>
        {copied ? <Check size={16} color="var(--success)" /> : <Copy size={16} />}
      </IconButton>
      <Copied copied={copied} />
    </>
  )
}

/** Copied announces the ✓ to screen readers. */
function Copied({ copied }: { copied: boolean }) {
  return (
    <span className="visually-hidden" aria-live="polite">
      {copied && texts.copied}
    </span>
  )
}

function useCopy(copy: () => Promise<void>): { copied: boolean; run: () => void } {
  const [copied, setCopied] = useBrief<true>()
  const run = () =>
    void copy().then(
      () => setCopied(true),
      () => toastFailure(texts.failed),
    )
  return { copied: copied === true, run }
}
