import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, type Page } from '@playwright/test'
import { root } from '../support/paths'
import { shrink } from './shrink'

/** The sizes of a picture: a laptop and a phone. */
export const sizes = {
  wide: { width: 1440, height: 900 },
  narrow: { width: 390, height: 844 },
} as const

/** A size by its name. */
export type Size = keyof typeof sizes

const schemes = ['light', 'dark'] as const

/** A screen, its sizes, and a function that opens it. Each size gets a new page. */
export interface Screen {
  readonly name: string
  readonly open: (page: Page, size: Size) => Promise<unknown>
  readonly only?: Size
}

/** Takes the screenshots of a screen: .cache/screens/NAME-{wide,narrow}-{light,dark}.png. */
export async function shoot(page: Page, { name, open, only }: Screen): Promise<void> {
  await page.emulateMedia({ reducedMotion: 'reduce' })
  for (const size of only ? [only] : (['wide', 'narrow'] as const)) {
    await page.setViewportSize(sizes[size])
    await open(page, size)
    for (const colorScheme of schemes) {
      await page.emulateMedia({ colorScheme })
      await page.evaluate(() => document.fonts.ready)
      const path = join(root, '.cache', 'screens', `${name}-${size}-${colorScheme}.png`)
      await writeFile(path, shrink(await page.screenshot({ animations: 'disabled', caret: 'hide' })))
    }
  }
}

/** Waits for the heading of a page. */
export const heading = (page: Page, name: string | RegExp) =>
  expect(page.getByRole('heading', { level: 1, name })).toBeVisible()

/** Opens a path and waits for the heading of its page. */
export const at = (path: string, name: string | RegExp) => async (page: Page) => {
  await page.goto(path)
  await heading(page, name)
}
