// Measures how soon the chat page can be used on a first load, on a slow computer. Called by bench:
//
//   node web/bench/load.mjs URL ADDRESS PASSWORD TIMES
//
// It signs in once, and then loads the page with an empty cache and the processor slowed down four times. Usable means
// that the composer can be typed into. It prints one JSON object.
import { freshPage, launch, signIn } from './browser.mjs'

const [url, address, password, times] = process.argv.slice(2)
const slowdown = 4
const mark = 'usable at '

const browser = await launch()
try {
  const page = await freshPage(browser)
  const skill = await signIn(page, url, address, password)
  await page.addInitScript(watchComposer, mark)
  const devtools = await page.context().newCDPSession(page)
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
