import { useEffect, useRef } from 'react'
import { ime, isEnter } from '@/lib/ui/ime'
import styles from './RenameField.module.css'

/** Edits a thread's name in place: Enter or blur saves it, Esc does not. It calls back with null if nothing changed. */
export function RenameField({ title, onDone }: { title: string; onDone: (title: string | null) => void }) {
  const field = useRef<HTMLInputElement>(null)
  const ended = useRef(false)

  useEffect(() => {
    // One frame later, because the menu that opened the field returns the focus when it is removed.
    const frame = requestAnimationFrame(() => {
      field.current?.focus()
      field.current?.select()
    })
    return () => cancelAnimationFrame(frame)
  }, [])

  const end = (keep: boolean) => {
    if (ended.current) return
    ended.current = true
    const next = (field.current?.value ?? '').trim()
    onDone(keep && next !== '' && next !== title ? next : null)
  }

  return (
    <input
      ref={field}
      className={styles.field}
      aria-label={'チャット名'}
      defaultValue={title}
      placeholder={'新しいチャット'}
      maxLength={100}
      onBlur={() => end(true)}
      onKeyDown={(event) => {
        if (isEnter(event)) end(true)
        if (event.key === 'Escape' && !ime.isComposing(event)) {
          event.stopPropagation()
          end(false)
        }
      }}
    />
  )
}
