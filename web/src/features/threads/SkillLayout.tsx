import { useAtom, useAtomValue } from 'jotai'
import { useEffect, useRef } from 'react'
import { Outlet, useLocation } from 'react-router'
import { focusComposer } from '@/lib/ui/composer'
import { FrameContext } from '@/lib/ui/frame'
import { useLayer } from '@/lib/ui/layers'
import { NARROW, useMedia } from '@/lib/ui/media'
import { sidebarFoldedAtom, sidebarOpenAtom } from '@/lib/ui/sidebar'
import styles from './SkillLayout.module.css'
import { ThreadColumn } from './ThreadColumn'
import { texts } from './texts'

/** The collapsible thread list at the left (a sheet on narrow screens), the page at the right. */
export function SkillLayout() {
  const narrow = useMedia(NARROW)
  const folded = useAtomValue(sidebarFoldedAtom)
  return (
    <div className={styles.layout} data-folded={folded || undefined}>
      {narrow ? (
        <Sheet />
      ) : (
        <aside className={styles.side} id="threads" aria-label={texts.label} data-print="hide">
          <ThreadColumn />
        </aside>
      )}
      <main id="main" className={styles.main} tabIndex={-1}>
        <FrameContext value="main">
          <Outlet />
        </FrameContext>
      </main>
    </div>
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
