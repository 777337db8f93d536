import type { Page } from '@playwright/test'

/** Removes the session from the browser. It leaves the app before, which would otherwise open the sign-in page itself. */
export async function forget(page: Page): Promise<void> {
  await page.goto('/config.json')
  await page.evaluate(() => localStorage.clear())
}
