import { useAtomValue } from 'jotai'
import { X } from 'lucide-react'
import { useEffect, useState } from 'react'
import { createPortal } from 'react-dom'
import { cx } from '@/lib/ui/cx'
import { layerAtom } from '@/lib/ui/layers'
import { dismissToast, type Toast, toastsAtom } from '@/lib/ui/toast'
import { toastPlaceAtom } from '@/lib/ui/toastPlace'
import styles from './Toaster.module.css'

/** Shows the toasts; rendered once at the end of the app. */
export function Toaster() {
  const toasts = useAtomValue(toastsAtom)
  const layer = useAtomValue(layerAtom)
  const { page, foot } = useAtomValue(toastPlaceAtom)
  const place = { left: page?.left, width: page?.width, bottom: foot?.height }
  return createPortal(
    <section
      className={cx(styles.region, layer && styles.overDialog)}
      style={layer ? undefined : place}
      aria-label="操作の結果"
      aria-live="polite"
      data-print="hide"
    >
      {toasts.map((item) => (
        <ToastItem key={item.id} toast={item} />
      ))}
    </section>,
    layer ?? document.body,
  )
}

function ToastItem({ toast }: { toast: Toast }) {
  const [held, setHeld] = useState(false)
  useEffect(() => {
    if (held) return
    const timer = setTimeout(() => dismissToast(toast.id), toast.duration)
    return () => clearTimeout(timer)
  }, [held, toast.id, toast.duration])

  const { action } = toast
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the pointer and the focus only pause the timer.
    <div
      role={toast.tone === 'danger' ? 'alert' : 'status'}
      className={cx(styles.toast, toast.tone === 'danger' && styles.danger)}
      onPointerEnter={() => setHeld(true)}
      onPointerLeave={() => setHeld(false)}
      onFocus={() => setHeld(true)}
      onBlur={() => setHeld(false)}
    >
      <span>{toast.message}</span>
      {action && (
        <button
          type="button"
          className={styles.action}
          onClick={() => {
            dismissToast(toast.id)
            action.run()
          }}
        >
          {action.label}
        </button>
      )}
      <button
        type="button"
        className={styles.close}
        aria-label="閉じる"
        onClick={() => dismissToast(toast.id)}
      >
        <X size={16} aria-hidden />
      </button>
    </div>
  )
}
