// Measures what a long answer costs the browser, and how much JavaScript the first pages load. Called by bench:
//
//   node web/bench/answer.mjs URL ADDRESS PASSWORD BYTES
//
// It drives the real app as a person would and prints one JSON object. BENCH_CPUPROFILE names a file for a profile of the
// answer, for Chromium's developer tools (it costs time itself).
import { writeFileSync } from 'node:fs'
import { call, freshPage, launch, signIn } from './browser.mjs'

const [url, address, password, bytes] = process.argv.slice(2)
const patience = 60_000

/** A longer interval between two frames means that at least one of 60 a second was dropped. */
const frame = 1000 / 60

const browser = await launch('--enable-precise-memory-info')
try {
  const landing = await measureLanding()
  const answer = await measureAnswer()
  process.stdout.write(JSON.stringify({ chromium: browser.version(), landing_js_kb: landing, ...answer }))
} finally {
  await browser.close()
}

/** Compressed size of the scripts that the page has loaded, in KB of 1,000 bytes. */
function loadedScripts(page) {
  return page.evaluate(
    () =>
      performance
        .getEntriesByType('resource')
        .filter((entry) => new URL(entry.name).pathname.endsWith('.js'))
        .reduce((sum, entry) => sum + entry.encodedBodySize, 0) / 1000,
  )
}

async function measureLanding() {
  const page = await freshPage(browser)
  await page.goto(url, { waitUntil: 'networkidle' })
  const size = await loadedScripts(page)
  await page.context().close()
  return size
}

async function measureAnswer() {
  const page = await freshPage(browser)
  const skill = await signIn(page, url, address, password)

  // The chat's first load by a signed-in user with an empty cache.
  const devtools = await page.context().newCDPSession(page)
  await devtools.send('Network.clearBrowserCache')
  await page.goto(`${url}/home/skill/${skill.id}`, { waitUntil: 'networkidle' })
  const composer = page.locator('[data-composer]')
  await composer.waitFor()
  const chat_js_kb = await loadedScripts(page)

  await composer.fill(`@script {"bytes": ${bytes}, "tokens_per_second": 200}`)
  await devtools.send('Performance.enable')
  await page.evaluate(watchFrames)
  const profile = process.env.BENCH_CPUPROFILE
  if (profile) {
    await devtools.send('Profiler.enable')
    await devtools.send('Profiler.start')
  }
  const before = await metrics(devtools)
  const began = Date.now()
  await composer.press('Enter')
  const answer = page.locator('[data-turn]').nth(1)
  await page.locator('[data-turn][aria-busy="true"]').waitFor()
  const limit = (Number(bytes) / 200) * 1000 + patience // No token has less than one byte.
  await page.locator('[data-turn][aria-busy="true"]').waitFor({ state: 'detached', timeout: limit })
  const seconds = (Date.now() - began) / 1000
  const after = await metrics(devtools)
  const share = (name) => (after[name] - before[name]) / (after.Timestamp - before.Timestamp)
  const frames = await page.evaluate(() => window.stopFrames())
  if (profile) writeFileSync(profile, JSON.stringify((await devtools.send('Profiler.stop')).profile))
  await devtools.send('HeapProfiler.collectGarbage')
  const heap = (await devtools.send('Runtime.getHeapUsage')).usedSize

  // The screen must show the stored text.
  const shown = await answer.evaluate(visibleText)
  const thread = page.url().split('/').at(-1)
  const { items: messages } = await call(page, url, `/v1/message?thread_id=${thread}`)
  const stored = messages.find((message) => message.role === 'assistant')
  const text_same = Buffer.byteLength(stored.content) === Number(bytes) && holdsWords(shown, stored.content)
  return {
    chat_js_kb,
    seconds,
    ...summarize(frames),
    main_thread_share: share('TaskDuration'),
    script_share: share('ScriptDuration'),
    style_share: share('RecalcStyleDuration'),
    layout_share: share('LayoutDuration'),
    heap_mb: heap / 1e6,
    text_same,
  }
}

/** Runs in the page: records frame times and long tasks until window.stopFrames is called. */
function watchFrames() {
  const times = []
  const long = []
  let running = true
  const began = performance.now()
  const note = (entries) =>
    long.push(...entries.map((entry) => ({ at_s: (entry.startTime - began) / 1000, ms: entry.duration })))
  const observer = new PerformanceObserver((list) => note(list.getEntries()))
  observer.observe({ type: 'longtask' })
  const next = (time) => {
    times.push(time)
    if (running) requestAnimationFrame(next)
  }
  requestAnimationFrame(next)
  window.stopFrames = () => {
    running = false
    note(observer.takeRecords())
    observer.disconnect()
    return { times, long }
  }
}

async function metrics(devtools) {
  const list = (await devtools.send('Performance.getMetrics')).metrics
  return Object.fromEntries(list.map(({ name, value }) => [name, value]))
}

function summarize({ times, long }) {
  const deltas = times.slice(1).map((time, i) => time - times[i])
  const sorted = deltas.toSorted((a, b) => a - b)
  const at = (share) => sorted[Math.ceil(share * sorted.length) - 1] ?? 0
  const dropped = deltas.reduce(
    (sum, delta) => sum + (delta > 1.5 * frame ? Math.round(delta / frame) - 1 : 0),
    0,
  )
  return {
    long_tasks: long.length,
    longest_ms: Math.max(0, ...long.map((task) => task.ms)),
    long,
    frames: deltas.length,
    frame_p50_ms: at(0.5),
    frame_p95_ms: at(0.95),
    dropped,
  }
}

/** Runs in the page: the text of an answer, including parts that are not drawn while they are out of sight. */
function visibleText(answer) {
  const copy = answer.cloneNode(true)
  for (const hidden of copy.querySelectorAll('.katex-mathml, .visually-hidden, button')) hidden.remove()
  return copy.textContent
}

/**
 * Whether the rendered text has all Japanese characters of the Markdown, in order. Markup, and what code and math are
 * rendered to, is ignored on both sides.
 */
function holdsWords(shown, markdown) {
  const words = (text) =>
    text.match(/[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]+/gu)?.join('') ?? ''
  return words(shown).includes(words(markdown))
}
