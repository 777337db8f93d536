import { readFileSync } from 'node:fs'
import { expect, type Page } from '@playwright/test'

const router = readFileSync(new URL('../../src/app/router.tsx', import.meta.url), 'utf8')

/** The paths of the pages that a function of the router adds, except those with ids. */
function added(by: string, under = ''): string[] {
  const calls = router.matchAll(new RegExp(`\\b${by}\\(\\s*'([^':]+)'`, 'g'))
  return [...calls].map(([, path]) => under + path)
}

/** Every page with the shell, except those of one skill, thread, project, group or shared answer. */
export const pages = [
  ...['/home/skill', '/home/data-source', '/home/nonsense', '/setting/change-password', '/setting/factor'],
  ...added('page').filter((path) => path.startsWith('/home/')),
  ...added('settingPage', '/setting/'),
  ...added('adminPage', '/admin/'),
]
if (pages.length < 35) throw new Error(`few pages in the router: ${pages.join(' ')}`)

/** Opens another page of the app as a link does, which takes less of the processor than loading the app again. */
export async function visit(page: Page, path: string): Promise<void> {
  const heading = page.getByRole('heading', { level: 1 }).first()
  await heading.evaluate((element) => element.setAttribute('data-left', ''))
  await page.evaluate((to) => {
    history.pushState(null, '', to)
    dispatchEvent(new PopStateEvent('popstate'))
  }, path)
  await expect(page.locator('[data-left]'), path).toHaveCount(0)
  await expect(heading, path).toBeVisible()
}
