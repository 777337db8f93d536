import { atom } from 'jotai'
import { store } from '@/lib/ui/store'
import { storedChoice } from './storedChoice'

/** Theme is the user's theme; `system` follows the device. */
type Theme = 'system' | 'light' | 'dark'

// Also read by public/theme.js before the first paint.
const choice = storedChoice('tsumugiTheme', ['light', 'dark'])

/** The chosen theme. */
export const themeAtom = atom((get): Theme => get(choice.atom) ?? 'system')

/** setTheme sets the theme and stores it on this device. */
export function setTheme(theme: Theme): void {
  choice.set(theme === 'system' ? null : theme)
}

/** applyTheme shows the page in the chosen theme, also after a choice in another tab. */
export function applyTheme({ dataset }: HTMLElement): () => void {
  return store.sub(themeAtom, () => {
    const theme = store.get(themeAtom)
    if (theme === 'system') delete dataset.theme
    else dataset.theme = theme
  })
}
