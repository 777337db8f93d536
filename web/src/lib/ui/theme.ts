import { atom } from 'jotai'
import { store } from '@/lib/ui/store'

/** Theme is the user's theme; `system` follows the device. */
type Theme = 'system' | 'light' | 'dark'

// Also read by public/theme.js before the first paint.
const KEY = 'tsumugiTheme'

const chosen = atom<Theme>(readTheme())

/** The chosen theme. */
export const themeAtom = atom((get) => get(chosen))

/** setTheme sets the theme and stores it on this device. */
export function setTheme(theme: Theme): void {
  if (theme === 'system') localStorage.removeItem(KEY)
  else localStorage.setItem(KEY, theme)
  applyTheme(theme)
}

/** Follows the choice made in another tab. */
export function followTheme(target: Window): () => void {
  const onStorage = (event: StorageEvent) => {
    if (event.key === KEY || event.key === null) applyTheme(readTheme())
  }
  target.addEventListener('storage', onStorage)
  return () => target.removeEventListener('storage', onStorage)
}

function applyTheme(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
  store.set(chosen, theme)
}

function readTheme(): Theme {
  const value = localStorage.getItem(KEY)
  return value === 'light' || value === 'dark' ? value : 'system'
}
