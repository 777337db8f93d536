import { useAtom } from 'jotai'
import { useEffect, useRef } from 'react'
import { useLocation } from 'react-router'
import { focusComposer } from '@/lib/ui/composer'
import { useLayer } from '@/lib/ui/layers'
import { NARROW, useMedia } from '@/lib/ui/media'
import { sidebarOpenAtom } from '@/lib/ui/sidebar'
import styles from './Sidebar.module.css'
import { ThreadColumn } from './ThreadColumn'
import { texts } from './texts'

/** Sidebar has the links to the main pages and the list of threads. On narrow screens it is a sheet. */
export function Sidebar() {
  if (useMedia(NARROW)) return <Sheet />
  return (
    <aside className={styles.side} id="threads" aria-label={texts.label} data-print="hide">
      <ThreadColumn />
    </aside>
  )
}

function Sheet() {
  const [open, setOpen] = useAtom(sidebarOpenAtom)
  const { key } = useLocation()
  const dialog = useRef<HTMLDialogElement>(null)
  useLayer(dialog, open)

  const place = useRef(key)
  // biome-ignore lint/correctness/useExhaustiveDependencies: every navigation closes it.
  useEffect(() => setOpen(false), [key, setOpen])

  useEffect(() => {
    const element = dialog.current
    if (element === null || element.open === open) return
    if (open) {
      place.current = key
      element.showModal()
      return
    }
    element.close()
    // The browser returns the focus to the button that opened it; on another page the composer needs it more.
    if (place.current !== key) focusComposer()
  }, [open, key])

  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the click is on the backdrop; Esc does the same through onClose.
    <dialog
      ref={dialog}
      className={styles.sheet}
      aria-label={texts.label}
      onClose={() => setOpen(false)}
      onClick={(event) => {
        if (event.target === dialog.current) setOpen(false)
      }}
    >
      {open && <ThreadColumn onClose={() => setOpen(false)} />}
    </dialog>
  )
}
