import type { Page } from '@playwright/test'

/** Holds a page's requests to an address until they are released. */
export async function hold(page: Page, url: RegExp): Promise<{ release(): void }> {
  let release = () => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  await page.route(url, async (route) => {
    await released
    await route.continue()
  })
  return { release }
}
