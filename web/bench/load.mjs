// Measures how soon the chat page can be used on a first load, on a slow computer. Called by bench:
//
//   node web/bench/load.mjs URL ADDRESS PASSWORD TIMES
//
// It signs in once, and then loads the page with an empty cache and the processor slowed down four times. Usable means
// that the composer can be typed into. It prints one JSON object. CHROMIUM names the browser.
import { existsSync } from 'node:fs'
import { chromium } from 'playwright-core'

const [url, address, password, times] = process.argv.slice(2)
const slowdown = 4
const mark = 'usable at '

const executablePath = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find((path) => path && existsSync(path))

const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] })
try {
  const context = await browser.newContext({ locale: 'ja-JP', viewport: { width: 1280, height: 800 } })
  const page = await context.newPage()
  page.setDefaultTimeout(60_000)
  await page.goto(`${url}/login`)
  await page.locator('input[name="username"]').fill(address)
  await page.keyboard.press('Enter')
  await page.locator('input[name="password"]').fill(password)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/home/**')
  const token = await page.evaluate(() => JSON.parse(localStorage.getItem('tsumugiToken')).idToken)
  const answer = await fetch(`${url}/v1/skill?limit=100`, { headers: { Authorization: `Bearer ${token}` } })
  const { items: skills } = await answer.json()
  const skill = skills.find((one) => one.form_type === 'chat' && !one.unavailable_reason)

  await page.addInitScript(watchComposer, mark)
  const devtools = await context.newCDPSession(page)
  await devtools.send('Emulation.setCPUThrottlingRate', { rate: slowdown })
  const usable = []
  const scripts = []
  for (let i = 0; i < Number(times); i++) {
    await page.goto('about:blank')
    await devtools.send('Network.clearBrowserCache')
    const told = page.waitForEvent('console', (message) => message.text().startsWith(mark))
    await page.goto(`${url}/home/skill/${skill.id}`, { waitUntil: 'commit' })
    const at = Number((await told).text().slice(mark.length))
    usable.push(at)
    scripts.push(await page.evaluate(loadedScripts, at))
    await page.waitForLoadState('networkidle')
    await page.locator('[data-composer]').fill('こんにちは') // It really accepts input.
  }
  process.stdout.write(JSON.stringify({ chromium: browser.version(), usable_ms: usable, js_kb: scripts }))
} finally {
  await browser.close()
}

/** Runs in the page: the compressed size of the scripts loaded by then, in KB of 1,000 bytes. */
function loadedScripts(at) {
  return (
    performance
      .getEntriesByType('resource')
      .filter((entry) => new URL(entry.name).pathname.endsWith('.js') && entry.responseEnd <= at)
      .reduce((sum, entry) => sum + entry.encodedBodySize, 0) / 1000
  )
}

/**
 * Runs in the page before everything else: reports when the composer can be typed into, counted from the start of the
 * load. The page reports it by itself, because polling would load code into the page during the measurement.
 */
function watchComposer(mark) {
  const look = () => {
    const composer = document.querySelector('[data-composer]')
    if (!composer || composer.disabled || composer.readOnly) return
    observer.disconnect()
    // In the frame after the one that shows it: what was waiting to run has run.
    // biome-ignore lint/suspicious/noConsole: it is how the page tells us.
    requestAnimationFrame(() => setTimeout(() => console.debug(mark + performance.now())))
  }
  const observer = new MutationObserver(look)
  observer.observe(document, {
    childList: true,
    subtree: true,
    attributes: true,
    attributeFilter: ['disabled', 'readonly'],
  })
}
