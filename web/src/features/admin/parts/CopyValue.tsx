import { Check, Copy } from 'lucide-react'
import { useEffect, useState } from 'react'
import { IconButton } from '@/components/IconButton'
import { toast, toastFailure } from '@/lib/ui/toast'
import { texts } from '../texts'
import styles from './CopyValue.module.css'

/** A value to copy exactly to another system. */
export function CopyValue({ label, value }: { label: string; value: string }) {
  const [copied, setCopied] = useState(false)
  useEffect(() => {
    if (!copied) return
    const timer = setTimeout(() => setCopied(false), 2000)
    return () => clearTimeout(timer)
  }, [copied])

  const copy = async () => {
    try {
      await navigator.clipboard.writeText(value)
      setCopied(true)
      toast(texts.common.copied(label), { tone: 'success' })
    } catch {
      toastFailure(texts.common.notCopied)
    }
  }

  return (
    <span className={styles.value}>
      <code>{value}</code>
      <IconButton size="sm" label={texts.common.copyLabel(label)} onClick={() => void copy()}>
        {copied ? <Check size={15} /> : <Copy size={15} />}
      </IconButton>
    </span>
  )
}
