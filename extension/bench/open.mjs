// Measures how soon the panel shows the first characters of a summary. Called by bench:
//
//   node extension/bench/open.mjs URL ADDRESS PASSWORD TIMES
//
// It takes the extension from the server, signs it in, and opens the panel beside a page whose summary was asked for, as
// the context menu does; the site's text is sent without review. It prints one JSON object. CHROMIUM names the browser.
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { unzipSync } from 'fflate'
import { chromium } from 'playwright-core'

const [url, address, password, times] = process.argv.slice(2)
const mark = 'shown at '
const executablePath = [
  process.env.CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find((path) => path && existsSync(path))

const profile = await mkdtemp(join(tmpdir(), 'tsumugi-bench-'))
const site = await startSite()
const context = await start(await unpack())
try {
  const token = await signIn()
  const worker = context.serviceWorkers()[0] ?? (await context.waitForEvent('serviceworker'))
  const id = worker.url().split('/')[2]
  const session = await context.browser().newBrowserCDPSession()
  const settings = await extensionPage(id, 'options.html')
  await settings.evaluate((values) => chrome.storage.local.set(values), {
    server: url,
    grant: { origin: url, accessToken: token, refreshToken: '', expiresAt: Date.now() + 3_000_000 },
    unreviewed: [new URL(site.url).host],
  })
  const shown = []
  for (let i = 0; i < Number(times) + 1; i++) {
    const page = await context.newPage()
    await page.goto(`${site.url}/${i}`)
    await page.bringToFront()
    await press(session, id, page.url())
    const tab = await settings.evaluate(leave, page.url())
    const panel = await context.newPage()
    await panel.addInitScript(watchAnswer, mark)
    const told = panel.waitForEvent('console', (message) => message.text().startsWith(mark))
    await panel.goto(`chrome-extension://${id}/panel.html?tab=${tab}`, { waitUntil: 'commit' })
    const at = Number((await told).text().slice(mark.length))
    if (i > 0) shown.push(at) // The first one also starts the server's and the browser's caches.
    await panel.close()
    await page.close()
  }
  process.stdout.write(JSON.stringify({ shown_ms: shown }))
} finally {
  await context.close()
  site.server.close()
  await rm(profile, { recursive: true, force: true })
}

async function startSite() {
  const text = '在宅勤務の対象を全社員に広げます。申請は前月の20日までに、部署の責任者へ提出してください。'
  const body = `<!doctype html><html lang="ja"><meta charset="utf-8"><title>お知らせ</title><article><h1>在宅勤務のお知らせ</h1>${`<p>${text}</p>`.repeat(40)}</article></html>`
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(body)
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${server.address().port}` }
}

/** Unpacks the extension that the server hands out, and returns its folder. */
async function unpack() {
  const folder = join(profile, 'extension')
  const response = await fetch(`${url}/extension/tsumugi.zip`)
  if (!response.ok) throw new Error(`the extension: ${response.status}`)
  for (const [name, content] of Object.entries(unzipSync(new Uint8Array(await response.arrayBuffer())))) {
    await mkdir(dirname(join(folder, name)), { recursive: true })
    await writeFile(join(folder, name), content)
  }
  return folder
}

function start(folder) {
  return chromium.launchPersistentContext(join(profile, 'profile'), {
    headless: true,
    executablePath,
    locale: 'ja-JP',
    args: [
      '--no-sandbox',
      `--disable-extensions-except=${folder}`,
      `--load-extension=${folder}`,
      '--enable-unsafe-extension-debugging',
    ],
  })
}

async function signIn() {
  const page = await context.newPage()
  await page.goto(`${url}/login`)
  await page.locator('input[name="username"]').fill(address)
  await page.keyboard.press('Enter')
  await page.locator('input[name="password"]').fill(password)
  await page.keyboard.press('Enter')
  await page.waitForURL('**/home/**')
  const token = await page.evaluate(() => JSON.parse(localStorage.getItem('tsumugiToken')).idToken)
  await page.close()
  return token
}

async function extensionPage(id, name) {
  const page = await context.newPage()
  await page.goto(`chrome-extension://${id}/${name}`)
  return page
}

/** Presses the extension's button, which grants the page, and closes the panel that this opens. */
async function press(session, id, address) {
  const { targetInfos } = await session.send('Target.getTargets', { filter: [{ type: 'tab' }] })
  const tab = targetInfos.find((target) => target.url === address)
  await session.send('Extensions.triggerAction', { id, targetId: tab.targetId })
  const opened = async () =>
    (await session.send('Target.getTargets')).targetInfos.find((target) => target.url.endsWith('/panel.html'))
  let panel
  while (panel === undefined) panel = await opened()
  await session.send('Target.closeTarget', { targetId: panel.targetId })
  while ((await opened()) !== undefined);
}

/** Runs in the extension: leaves for the panel what the context menu would, and returns the page's tab. */
async function leave(address) {
  const tab = (await chrome.tabs.query({})).find((found) => found.url === address)
  const intent = { kind: 'summarize', tabId: tab.id, windowId: tab.windowId, at: Date.now() }
  await chrome.storage.session.set({ [`intent:${tab.windowId}`]: intent })
  return tab.id
}

/** Runs in the panel before everything else: reports when text of an answer is drawn, from the start of the load. */
function watchAnswer(mark) {
  const look = () => {
    if (!document.querySelector('[data-answer] > div')?.textContent) return
    observer.disconnect()
    // biome-ignore lint/suspicious/noConsole: it is how the page tells us.
    requestAnimationFrame(() => setTimeout(() => console.debug(mark + performance.now())))
  }
  const observer = new MutationObserver(look)
  observer.observe(document, { childList: true, subtree: true, characterData: true })
}
