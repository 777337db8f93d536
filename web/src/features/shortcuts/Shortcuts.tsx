import { useAtom } from 'jotai'
import { useEffect } from 'react'
import { useNavigate } from 'react-router'
import { useNewChat } from '@/entities/thread/newChat'
import { isApple } from '@/lib/browser/platform'
import { focusComposer } from '@/lib/ui/composer'
import { ime } from '@/lib/ui/ime'
import { LazyPart, useLazyDialog } from '@/lib/ui/lazyPart'
import { NARROW, useMedia } from '@/lib/ui/media'
import { paletteOpenAtom, shortcutsOpenAtom } from '@/lib/ui/overlays'
import { foldSidebar, sidebarFoldedAtom } from '@/lib/ui/sidebar'
import { store } from '@/lib/ui/store'

const palettePart = new LazyPart(async () => (await import('./Palette')).Palette)
const shortcutsPart = new LazyPart(async () => (await import('./ShortcutList')).ShortcutList)

/** Shortcuts has the global shortcuts and their dialogs. It is rendered once. */
export function Shortcuts() {
  const [palette, setPalette] = useAtom(paletteOpenAtom)
  const [list, setList] = useAtom(shortcutsOpenAtom)
  const navigate = useNavigate()
  const { to: newChat, state } = useNewChat()
  const narrow = useMedia(NARROW)
  const closePalette = () => setPalette(false)
  const closeList = () => setList(false)
  const Palette = useLazyDialog(palettePart, palette, closePalette)
  const ShortcutList = useLazyDialog(shortcutsPart, list, closeList)

  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || ime.isComposing(event)) return
      const mod = event.ctrlKey || event.metaKey
      const key = event.key.toLowerCase()
      if (mod && !event.shiftKey && !event.altKey && key === 'k') {
        event.preventDefault()
        setList(false)
        setPalette((open) => !open)
      } else if (isFold(event) && !narrow) {
        event.preventDefault()
        foldSidebar(!store.get(sidebarFoldedAtom))
      } else if (mod && event.shiftKey && !event.altKey && key === 'o') {
        event.preventDefault()
        void navigate(newChat, { state })
        focusComposer()
      } else if (
        !mod &&
        !event.altKey &&
        !isTyping(event.target) &&
        !document.querySelector('dialog[open]')
      ) {
        if (event.key === '?') {
          event.preventDefault()
          setList(true)
        } else if (event.key === '/') {
          // The composer if the page has one, else the search field.
          const field = document.querySelector<HTMLElement>('[data-composer], main search input')
          if (field) {
            event.preventDefault()
            field.focus()
          }
        }
      }
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [navigate, newChat, state, narrow, setList, setPalette])

  return (
    <>
      {Palette && <Palette onClose={closePalette} />}
      {ShortcutList && <ShortcutList onClose={closeList} />}
    </>
  )
}

/** isFold reports whether a key event folds the thread list. On a Mac, Ctrl B moves the cursor, so only ⌘ B does. */
function isFold(event: KeyboardEvent): boolean {
  const mod = isApple ? event.metaKey && !event.ctrlKey : event.ctrlKey && !event.metaKey
  return mod && !event.shiftKey && !event.altKey && event.key.toLowerCase() === 'b'
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'))
  )
}
