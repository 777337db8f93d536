import { chromium, type Page } from '@playwright/test'
import { findBrowser } from '../../web/e2e/support/browser'
import { breaches, overflow } from '../../web/e2e/support/inspect'
import { pdfOf } from '../../web/e2e/support/pdf'
import { type Browser, expect, test } from './browser'
import { comments, related } from './pages'

// Pages with comments, frames and advertisements; transcripts of videos; PDF files.

test('comments and frames of the same site are sent, other text on request, and no advertisements', async ({
  browserWith: browser,
  site,
  model,
}) => {
  const question = '在宅勤務をどう思いますか'
  model.script(question, { text: '賛否があります。' })
  const received = () => model.question(question)
  const panel = await browser.press(await browser.open(`${site.url}/discussion`))
  const summarize = panel.getByRole('button', { name: 'このページを要約' })
  const review = panel.getByRole('region', { name: '送信内容を確認' })
  const numbers = review.locator('dd')
  const send = review.getByRole('button', { name: '送信', exact: true })
  const answered = () => expect(panel.locator('[data-answer]')).toContainText('賛否があります。')

  await summarize.click()
  await expect(numbers.nth(2)).toHaveText(String(related.length))
  await expect(review).toContainText('別のサイトの枠が1か所あり、その中身は読み取っていません。')
  await review.getByText('送信する文章を表示').click()
  const shown = (await review.locator('pre').textContent()) ?? ''
  await expect(numbers.nth(1)).toHaveText([...shown].length.toLocaleString('ja'))
  await inspect(panel)
  await send.click()
  await answered()
  for (const text of [shown, received()]) {
    for (let i = 1; i <= comments; i++) expect(text).toContain(`${i}番目の感想です。`)
    expect(text).toContain('## 4月の議事録\n\n労使協議会は、在宅勤務の上限を月15日とすることで合意しました。')
    expect(text).not.toContain(related)
    expect(text).not.toMatch(/広告|ニュース一覧/)
  }
  expect(shown.match(/1番目の感想です。/g), 'each comment is sent once').toHaveLength(comments / 10)

  await panel.getByRole('button', { name: '新しいチャット' }).click()
  await summarize.click()
  await review.getByRole('button', { name: 'ページ全体を送る' }).click()
  await expect(numbers).toHaveCount(2)
  await expect(review.getByRole('button', { name: 'ページ全体を送る' })).toHaveCount(0)
  await send.click()
  await answered()
  await expect(panel.getByText(/^[\d,]+文字を送信$/)).toBeVisible()
  for (const part of [related, `${comments}番目の感想です。`, '労使協議会は'])
    expect(received()).toContain(part)
  expect(received()).not.toContain('広告')

  // The text of a site without reviews still shows the number of omitted characters.
  await panel.getByRole('button', { name: '新しいチャット' }).click()
  await summarize.click()
  await review.getByRole('checkbox').check()
  await send.click()
  await answered()
  await panel.getByRole('button', { name: '新しいチャット' }).click()
  await summarize.click()
  await answered()
  await expect(panel.getByText(new RegExp(`文字を送信（省略 ${related.length}文字）$`))).toBeVisible()
  await expect(review).toHaveCount(0)
  expect(received()).not.toContain(related)
})

const video = 'https://www.youtube.com/watch?v=dQw4w9WgXcQ'
const transcriptPath = '/api/timedtext'

/** A minimal page of YouTube: its script contains the player's response with the caption tracks. */
function watchPage(captions: string): string {
  return `<!doctype html><html lang="ja-JP"><head><meta charset="utf-8"><title>在宅勤務の説明会 - YouTube</title>
<script nonce="x">var ytcfg = {"EXPERIMENT_FLAGS": {"captions": true}};</script></head><body>
<ytd-app><h1>在宅勤務の説明会</h1><div id="description">新しい制度について人事部が説明します。</div></ytd-app>
<script nonce="x">var ytInitialPlayerResponse = {"responseContext":{"serviceTrackingParams":[{"service":"GFEEDBACK",
"params":[{"key":"logged_in","value":"0"}]}]},"playabilityStatus":{"status":"OK","playableInEmbed":true},
${captions}"videoDetails":{"videoId":"dQw4w9WgXcQ","title":"在宅勤務の説明会","lengthSeconds":"212","isLiveContent":false,
"shortDescription":"新しい制度について\\n「人事部」が説明します。[字幕あり]"}};var meta = document.createElement('meta');</script>
</body></html>`
}

const track = (language: string, more: string) =>
  `{"baseUrl":"https://www.youtube.com${transcriptPath}?v=dQw4w9WgXcQ\\u0026ei=k\\u0026caps=asr\\u0026lang=${language}",
"name":{"simpleText":"[${language}] \\"字幕\\""},"vssId":".${language}",
"languageCode":"${language}",${more}"isTranslatable":true}`

const captions = `"captions":{"playerCaptionsTracklistRenderer":{"captionTracks":[${track('en', '')},
${track('ja', '"kind":"asr",')}],"audioTracks":[{"captionTrackIndices":[0,1]}],"defaultAudioTrackIndex":0}},`

const transcript = {
  wireMagic: 'pb3',
  pens: [{}],
  events: [
    { tStartMs: 0, dDurationMs: 212_000, id: 1, wpWinPosId: 1 },
    { tStartMs: 1_200, dDurationMs: 3_000, segs: [{ utf8: '本日は' }, { utf8: 'ありがとうございます。' }] },
    { tStartMs: 4_200, aAppend: 1, segs: [{ utf8: '\n' }] },
    {
      tStartMs: 65_000,
      segs: [
        { utf8: '在宅勤務の対象を', tOffsetMs: 0 },
        { utf8: '全社員に広げます。', tOffsetMs: 480 },
      ],
    },
  ],
}

/** Checks the panel at its narrowest, in light and dark. */
async function inspect(panel: Page): Promise<void> {
  await panel.setViewportSize({ width: 320, height: 700 })
  expect(await overflow(panel)).toEqual({ by: 0, what: [] })
  for (const colorScheme of ['light', 'dark'] as const) {
    await panel.emulateMedia({ colorScheme })
    expect(await breaches(panel)).toEqual([])
  }
}

/** Opens the video next to the panel. Its site responds with this page and this transcript. */
async function watch(
  browser: Browser,
  page: string,
  answer: { status: number; body: string },
): Promise<Page> {
  await browser.context.route('https://www.youtube.com/**', (route) => {
    const { pathname, searchParams } = new URL(route.request().url())
    if (pathname !== transcriptPath) return route.fulfill({ contentType: 'text/html', body: page })
    expect(Object.fromEntries(searchParams)).toMatchObject({ lang: 'ja', fmt: 'json3', ei: 'k' })
    return route.fulfill({ contentType: 'application/json', ...answer })
  })
  return browser.press(await browser.open(video))
}

test('the transcript of a video is read and summarized', async ({ browserWith: browser, model }) => {
  model.script('在宅勤務の説明会', { text: '在宅勤務の対象が広がるという説明です。' })
  const panel = await watch(browser, watchPage(captions), { status: 200, body: JSON.stringify(transcript) })
  await panel.getByRole('button', { name: 'このページを要約' }).click()
  await panel.getByText('送信する文章を表示').click()
  await expect(panel.locator('pre')).toHaveText(
    '# 在宅勤務の説明会\n\n（動画の文字起こし）\n\n0:01 本日はありがとうございます。\n1:05 在宅勤務の対象を全社員に広げます。',
  )
  await panel.getByRole('button', { name: '送信', exact: true }).click()
  await expect(panel.locator('[data-answer]')).toContainText('在宅勤務の対象が広がるという説明です。')
})

for (const [name, page, answer, reason] of [
  [
    'has none',
    watchPage(''),
    { status: 200, body: '' },
    'この動画には文字起こしがないため、要約できません。',
  ],
  [
    'is refused',
    watchPage(captions),
    { status: 429, body: '' },
    'この動画の文字起こしを取得できませんでした。動画の説明欄で「文字起こしを表示」を開いて',
  ],
  ['is empty, as without a player', watchPage(captions), { status: 200, body: '' }, '取得できませんでした。'],
] as const)
  test(`a video whose transcript ${name}: the panel shows the reason`, async ({ browserWith: browser }) => {
    const panel = await watch(browser, page, answer)
    await panel.getByRole('button', { name: 'このページを要約' }).click()
    await expect(panel.getByRole('alert')).toContainText(reason)
    await inspect(panel)
    const tab = browser.context.pages().find((other) => other.url() === video) as Page
    await tab.evaluate(() =>
      getSelection()?.selectAllChildren(document.querySelector('#description') as Element),
    )
    await panel.getByRole('button', { name: '選択した文章をやさしく説明' }).click()
    await panel.getByText('送信する文章を表示').click()
    await expect(panel.locator('pre')).toHaveText('新しい制度について人事部が説明します。')
  })

/** A file of two pages. */
async function rulesFile(): Promise<Buffer> {
  const printer = await chromium.launch({ executablePath: findBrowser(), args: ['--no-sandbox'] })
  try {
    return await pdfOf(printer, [
      '# 在宅勤務規程\n在宅勤務の申請は、前月の20日までに行う。',
      '# 附則\n2027年4月1日から施行する。',
    ])
  } finally {
    await printer.close()
  }
}

const pdf = 'application/pdf'

test('a PDF in a tab is read by the server after confirmation', async ({
  browserWith: browser,
  site,
  account,
  model,
}) => {
  model.script('在宅勤務規程', { text: '申請の期限は前月の20日です。' })
  const file = await rulesFile()
  for (const path of ['/rules.pdf', '/download']) {
    const panel = await browser.press(await browser.open(`${site.add(path, pdf, file)}?version=3`))
    await panel.getByRole('button', { name: 'このページを要約' }).click()
    await expect(panel.getByText(/このPDF（\d+ KB）をサーバーに送り、文章を読み取ります。/)).toBeVisible()
    await inspect(panel)
    await panel.getByRole('button', { name: 'PDFを読み取る' }).click()
    await panel.getByText('送信する文章を表示').click()
    await inspect(panel)
    await expect(panel.locator('pre')).toContainText('在宅勤務の申請は、前月の20日までに行う。')
    await expect(panel.locator('pre')).toContainText('2027年4月1日から施行する。')
    await panel.getByRole('button', { name: '送信', exact: true }).click()
    await expect(panel.locator('[data-answer]')).toContainText('申請の期限は前月の20日です。')
  }
  const sources = await account.call('GET', '/v1/data-source')
  expect(await sources.json(), 'the file is not kept').toMatchObject({ items: [] })
})

test('a PDF with a password, and one over 20 MB, are refused with advice', async ({
  browserWith: browser,
  site,
}) => {
  const file = await rulesFile()
  const lock = '5A'.repeat(32)
  const locked = file
    .toString('latin1')
    .replace(
      'trailer\n<<',
      `trailer\n<</Encrypt <</Filter /Standard /V 1 /R 2 /P -4 /O <${lock}> /U <${lock}>>> /ID [<00> <00>]`,
    )
  expect(locked).toContain('/Encrypt')
  const page = await browser.open(site.add('/locked.pdf', pdf, Buffer.from(locked, 'latin1')))
  let panel = await browser.press(page)
  await panel.getByRole('button', { name: 'このページを要約' }).click()
  await panel.getByRole('button', { name: 'PDFを読み取る' }).click()
  await expect(panel.getByRole('alert')).toHaveText(
    'パスワードで保護されているため、読み取れませんでした。パスワードを解除して保存し直してから、もう一度お試しください。',
  )
  const large = Buffer.concat([file, Buffer.alloc(20 * 1024 * 1024)])
  panel = await browser.press(await browser.open(site.add('/large.pdf', pdf, large)))
  await panel.getByRole('button', { name: 'このページを要約' }).click()
  await expect(panel.getByRole('alert')).toContainText('このPDFは20 MBを超えているため、読み取れません。')
})
