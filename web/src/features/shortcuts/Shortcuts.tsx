import { useAtom } from 'jotai'
import { lazy, Suspense, useEffect } from 'react'
import { useMatch, useNavigate } from 'react-router'
import { ime } from '@/lib/ui/ime'
import { paletteOpenAtom, shortcutsOpenAtom } from '@/lib/ui/overlays'

const Palette = lazy(async () => ({ default: (await import('./Palette')).Palette }))
const ShortcutList = lazy(async () => ({ default: (await import('./ShortcutList')).ShortcutList }))

/** The keys of the whole app, and what they open. Stands once in /home. */
export function Shortcuts() {
  const [palette, setPalette] = useAtom(paletteOpenAtom)
  const [list, setList] = useAtom(shortcutsOpenAtom)
  const navigate = useNavigate()
  const skillId = useMatch('/home/skill/:skillId/*')?.params.skillId

  useEffect(() => {
    const onKeyDown = (event: KeyboardEvent) => {
      if (event.defaultPrevented || ime.isComposing(event)) return
      const mod = event.ctrlKey || event.metaKey
      const key = event.key.toLowerCase()
      if (mod && !event.shiftKey && !event.altKey && key === 'k') {
        event.preventDefault()
        setList(false)
        setPalette((open) => !open)
      } else if (mod && event.shiftKey && !event.altKey && key === 'o') {
        event.preventDefault()
        void navigate(skillId ? `/home/skill/${skillId}` : '/home/skill')
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
          // The composer where there is one, else the search.
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
  }, [navigate, skillId, setList, setPalette])

  return (
    <Suspense>
      {palette && <Palette onClose={() => setPalette(false)} />}
      {list && <ShortcutList onClose={() => setList(false)} />}
    </Suspense>
  )
}

function isTyping(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'))
  )
}
