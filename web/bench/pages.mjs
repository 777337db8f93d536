// Measures how soon a click on a link shows the frame of the next page. Called by bench:
//
//   node web/bench/pages.mjs URL ADDRESS PASSWORD TIMES
//
// It goes round the pages of the app TIMES times, and once before, which loads their code. The frame of a page is its
// heading, whose contents may still be loading. It prints one JSON object.
import { freshPage, launch, signIn } from './browser.mjs'

const [url, address, password, times] = process.argv.slice(2)

const browser = await launch()
try {
  const page = await freshPage(browser)
  const skill = await signIn(page, url, address, password)
  await page.goto(`${url}/home/skill/${skill.id}`, { waitUntil: 'networkidle' })
  await page.locator('[data-composer]').fill('@script {"bytes": 3000, "tokens_per_second": -1}')
  await page.keyboard.press('Enter')
  await page.locator('[data-turn][aria-busy="true"]').waitFor()
  await page.locator('[data-turn][aria-busy="true"]').waitFor({ state: 'detached' })
  const thread = new URL(page.url()).pathname.split('/').at(-1)
  const links = ['/home/skill', `/chat/${thread}`, '/home/data-source', `/chat/${thread}`]
  const frames = []
  for (let round = -1; round < Number(times); round++) {
    for (const path of links) {
      const link = page.locator(`aside a[href$="${path}"], nav a[href$="${path}"]`).first()
      const shown = page.evaluate(nextFrame)
      await link.click()
      const ms = await shown
      await page.waitForLoadState('networkidle')
      if (round >= 0) frames.push(ms)
    }
  }
  process.stdout.write(JSON.stringify({ frame_ms: frames }))
} finally {
  await browser.close()
}

/** Runs in the page: the time from the next click to the frame that shows another heading, in ms. */
function nextFrame() {
  const heading = () => document.querySelector('h1')?.textContent
  const before = heading()
  return new Promise((resolve) => {
    document.addEventListener(
      'click',
      (click) => {
        const observer = new MutationObserver(() => {
          if (heading() === undefined || heading() === before) return
          observer.disconnect()
          // In the frame after the one that shows it.
          requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - click.timeStamp)))
        })
        observer.observe(document, { childList: true, subtree: true, characterData: true })
      },
      { capture: true, once: true },
    )
  })
}
