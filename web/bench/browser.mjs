// Starts Chromium for the measurements, and signs in. CHROMIUM names the browser.
import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'

const executablePath = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find((path) => path && existsSync(path))

/** Starts a browser. */
export function launch(...args) {
  return chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', ...args] })
}

/** Opens a new page with an empty cache. */
export async function freshPage(browser) {
  const context = await browser.newContext({ locale: 'ja-JP', viewport: { width: 1280, height: 800 } })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  return page
}

/** Signs in, and returns a skill for chats. */
export async function signIn(page, url, address, password) {
  await page.goto(`${url}/login`)
  await page.locator('input[name="username"]').fill(address)
  await page.keyboard.press('Enter')
  await page.locator('input[name="password"]').fill(password)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/home/**')
  const { items } = await call(page, url, '/v1/skill?limit=100')
  return items.find((one) => one.form_type === 'chat' && !one.unavailable_reason)
}

/** Calls the API as the page's user. */
export async function call(page, url, path) {
  const token = await page.evaluate(() => JSON.parse(localStorage.getItem('tsumugiToken')).idToken)
  return (await fetch(url + path, { headers: { Authorization: `Bearer ${token}` } })).json()
}
