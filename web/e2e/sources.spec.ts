import { readFile } from 'node:fs/promises'
import type { Locator, Page } from '@playwright/test'
import { emails } from './support/account'
import { hold } from './support/hold'
import { inspect } from './support/inspect'
import { enter } from './support/people'
import { openSkills } from './support/skills'
import {
  deleteSources,
  drop,
  listSources as list,
  openSources as open,
  row,
  rows,
  upload,
} from './support/sources'
import { expect, test } from './support/test'
import { password } from './support/tsumugi'

const uploadPath = /\/v1\/data-source\/file$/

/** The uploads in progress, and the failed ones. */
const uploads = (page: Page): Locator =>
  page.getByRole('region', { name: 'アップロードの状況' }).getByRole('listitem')

/** The text for screen readers. */
const said = (page: Page, text: string): Locator =>
  page.getByRole('main').getByRole('status').filter({ hasText: text })

/** Chooses files by the button, by name and content. */
async function choose(page: Page, files: Readonly<Record<string, string>>): Promise<void> {
  const chooser = page.waitForEvent('filechooser')
  await page.getByRole('button', { name: 'ファイルを選択' }).click()
  const payload = Object.entries(files).map(([name, content]) => ({
    name,
    mimeType: 'text/plain',
    buffer: Buffer.from(content),
  }))
  await (await chooser).setFiles(payload)
}

/** The number of files that a page has sent. */
function watchUploads(page: Page): () => number {
  let sent = 0
  page.on('request', (request) => {
    if (request.method() === 'POST' && uploadPath.test(request.url())) sent++
  })
  return () => sent
}

async function paste(page: Page, name: string, content: string): Promise<void> {
  await page.evaluate(
    ([name, content]) => {
      const clipboardData = new DataTransfer()
      clipboardData.items.add(new File([content], name))
      const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true })
      document.body.dispatchEvent(event)
    },
    [name, content] as const,
  )
}

test.beforeEach(async ({ account }) => {
  await deleteSources(account)
})

test.describe('a file', () => {
  test('is uploaded, and its parsing is shown in every tab and on every device', async ({
    page,
    context,
    device,
  }) => {
    const others = [await context.newPage(), await device()]
    for (const each of [page, ...others]) {
      await open(each)
      await expect(each.getByText('ファイルはまだありません。')).toBeVisible()
    }
    await choose(page, {
      '定例会議.md': '# 議題\n\n防災訓練について',
      '名簿.csv': '氏名,部署\n山田,総務部\n',
    })
    for (const each of [page, ...others]) {
      await expect(row(each, '定例会議.md')).toContainText('読み取り済み')
      await expect(row(each, '定例会議.md')).toContainText('Markdown')
      await expect(row(each, '名簿.csv')).toContainText('読み取り済み')
      await expect(said(each, 'を読み取りました。')).toBeAttached()
    }
    await expect(uploads(page)).toHaveCount(0)
    await page.reload()
    await expect(rows(page)).toHaveCount(2)
  })

  test('that cannot be parsed shows the reason', async ({ page, device, account }) => {
    const other = await device()
    await open(page)
    await open(other)
    await choose(page, { '空白だけ.txt': ' \n \n' })
    await expect.poll(async () => (await list(account))[0]?.status).toBe('failed')
    const reason = (await list(account))[0]?.error ?? '-'
    for (const each of [page, other]) {
      await expect(row(each, '空白だけ.txt')).toContainText('読み取れませんでした')
      await expect(row(each, '空白だけ.txt')).toContainText(reason)
      await expect(said(each, '「空白だけ.txt」を読み取れませんでした。')).toBeAttached()
    }
    // The list in the composer shows it too.
    await page.goto('/home/skill')
    await page.getByRole('button', { name: 'ファイルや画像を追加' }).first().click()
    await expect(page.getByRole('button', { name: '空白だけ.txt' })).toContainText(reason)
    await open(page)
    // An uploaded copy is the same data source, parsed again.
    await choose(page, { '空白だけ.txt': ' \n \n' })
    await expect(page.getByText('「空白だけ.txt」と同じ内容のファイルがすでに')).toBeVisible()
    await expect.poll(async () => (await list(account))[0]?.revision).toBeGreaterThan(5)
    await expect(row(other, '空白だけ.txt')).toContainText('読み取れませんでした')
    await expect(rows(other)).toHaveCount(1)
  })

  test('that is broken is reported, on phones too', async ({ page, account }) => {
    await open(page)
    await choose(page, { '壊れた報告書.pdf': '%PDF-1.7\n1 0 obj\n<< /Type /Catalog' })
    await expect.poll(async () => (await list(account))[0]?.status).toBe('failed')
    for (const width of [1440, 390]) {
      await page.setViewportSize({ width, height: 900 })
      await expect(row(page, '壊れた報告書.pdf')).toContainText('読み取れませんでした')
      await expect(
        row(page, '壊れた報告書.pdf').getByText(/^PDFが壊れているか、途中で切れている/),
      ).toBeInViewport()
    }
  })

  test('that is unsupported or empty is not sent', async ({ page }) => {
    const sent = watchUploads(page)
    await open(page)
    await choose(page, { '図面.dwg': '%PDF-1.7', '空.md': '' })
    await expect(uploads(page)).toHaveCount(2)
    await expect(uploads(page).first()).toContainText('対応していない形式です。')
    await expect(uploads(page).last()).toContainText('ファイルが空です。')
    await expect(uploads(page).getByRole('button', { name: /やり直す/ })).toHaveCount(0)
    await page.getByRole('button', { name: '「図面.dwg」の表示を閉じる' }).focus()
    await page.keyboard.press('Enter')
    await expect(page.getByRole('button', { name: '「空.md」の表示を閉じる' })).toBeFocused()
    await page.keyboard.press('Enter')
    await expect(uploads(page)).toHaveCount(0)
    await expect(page.getByRole('main')).toBeFocused()
    expect(sent()).toBe(0)
  })

  test('can be dropped and pasted', async ({ page }) => {
    await open(page)
    await drop(page, 'main > div', '置いた.md', '置いた内容')
    await expect(row(page, '置いた.md')).toContainText('読み取り済み')
    await paste(page, '貼り付けた.txt', '貼り付けた内容')
    await expect(row(page, '貼り付けた.txt')).toContainText('読み取り済み')
  })

  test.describe('on a touch screen', () => {
    test.use({ hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } })

    test('is chosen, as nothing can be dropped', async ({ page }) => {
      await open(page)
      await expect(page.getByRole('button', { name: 'ファイルを選択' })).toBeVisible()
      await expect(page.getByText('ドラッグ＆ドロップ')).toBeHidden()
    })
  })

  test('that exists already is not stored twice', async ({ page, account }) => {
    await open(page)
    await choose(page, { '規程.txt': '同じ内容です。' })
    await expect(row(page, '規程.txt')).toContainText('読み取り済み')
    await choose(page, { '規程の控え.txt': '同じ内容です。' })
    await expect(page.getByText('「規程.txt」と同じ内容のファイルがすでにあります。')).toBeVisible()
    await expect(rows(page)).toHaveCount(1)
    expect(await list(account)).toHaveLength(1)
  })

  test('is downloaded as it was uploaded, under its name', async ({ page }) => {
    const content = '氏名,部署\r\n山田,総務部\r\n'
    await open(page)
    await choose(page, { '名簿 2026.csv': content })
    const downloading = page.waitForEvent('download')
    await page.getByRole('button', { name: '「名簿 2026.csv」をダウンロード' }).click()
    const download = await downloading
    expect(download.suggestedFilename()).toBe('名簿 2026.csv')
    expect(await readFile(await download.path(), 'utf8')).toBe(content)
  })
})

test.describe('an upload', () => {
  test('shows its progress, two at a time, and can be canceled', async ({ page, account }) => {
    const sent = watchUploads(page)
    await open(page)
    const held = await hold(page, uploadPath)
    await choose(page, { '一.txt': 'いち', '二.txt': 'に', '三.txt': 'さん' })
    await expect(uploads(page)).toHaveCount(3)
    await expect(uploads(page).getByRole('progressbar')).toHaveCount(3)
    await expect(uploads(page).last()).toContainText('待機中')
    await expect.poll(sent).toBe(2)
    await page.getByRole('button', { name: '「一.txt」のアップロードを中止' }).click()
    await expect.poll(sent).toBe(3)
    held.release()
    await expect(row(page, '三.txt')).toContainText('読み取り済み')
    await expect(row(page, '二.txt')).toContainText('読み取り済み')
    await expect(uploads(page)).toHaveCount(0)
    expect((await list(account)).map(({ filename }) => filename)).not.toContain('一.txt')
  })

  test('continues while another page is open, and closing the tab asks', async ({ page }) => {
    await open(page)
    const held = await hold(page, uploadPath)
    await choose(page, { '手順書.md': '# 手順' })
    await expect(uploads(page)).toHaveCount(1)
    const asked = page.waitForEvent('dialog')
    await page.close({ runBeforeUnload: true })
    expect((await asked).type()).toBe('beforeunload')
    await (await asked).dismiss()

    await page.getByRole('banner').getByRole('link').first().click()
    await expect(page).toHaveURL(/\/home\/skill$/)
    await page.goBack()
    await expect(uploads(page)).toHaveCount(1)
    await page.goForward()
    held.release()
    await page.goBack()
    await expect(row(page, '手順書.md')).toContainText('読み取り済み')
    await expect(uploads(page)).toHaveCount(0)
  })

  test('that the server refuses shows the reason, and can be retried', async ({ page }) => {
    const detail = '保存する場所がありません。'
    const problem = {
      type: 'about:blank',
      title: 'Insufficient Storage',
      status: 507,
      code: 'storage_full',
      detail,
    }
    await open(page)
    await page.route(
      uploadPath,
      (route) => route.fulfill({ status: 507, contentType: 'application/problem+json', json: problem }),
      { times: 1 },
    )
    await choose(page, { '手順書.md': '# 手順' })
    await expect(uploads(page)).toContainText(detail)
    await expect(said(page, `「手順書.md」をアップロードできませんでした。${detail}`)).toBeAttached()
    await page.getByRole('button', { name: '「手順書.md」のアップロードをやり直す' }).click()
    await expect(row(page, '手順書.md')).toContainText('読み取り済み')
  })

  test('refused for an expired token is sent once more', async ({ page }) => {
    const problem = {
      type: 'about:blank',
      title: 'Unauthorized',
      status: 401,
      code: 'unauthenticated',
      detail: 'jwt expired',
    }
    await open(page)
    await page.route(
      uploadPath,
      (route) => route.fulfill({ status: 401, contentType: 'application/problem+json', json: problem }),
      { times: 1 },
    )
    const second = page.waitForRequest((request) => request.headers()['x-no-retry'] === '1')
    await choose(page, { '手順書.md': '# 手順' })
    expect((await second).url()).toMatch(uploadPath)
    await expect(row(page, '手順書.md')).toContainText('読み取り済み')
  })
})

test.describe('the list', () => {
  test('deletes with undo, keeps the focus, and updates other tabs', async ({
    page,
    device,
    server,
    account,
  }) => {
    for (const name of ['一.txt', '二.txt', '三.txt']) await upload(server.url, account, name, name)
    const other = await device()
    await open(page)
    await open(other)
    await expect(rows(other).getByRole('rowheader')).toHaveText(['三.txt', '二.txt', '一.txt'])

    await page.getByRole('button', { name: '「二.txt」を削除' }).focus()
    await page.keyboard.press('Enter')
    await expect(rows(page)).toHaveCount(2)
    await expect(page.getByRole('button', { name: '一.txt', exact: true })).toBeFocused()
    await page.getByRole('button', { name: '元に戻す' }).click()
    await expect(rows(page)).toHaveCount(3)
    await expect(page.getByRole('button', { name: '「二.txt」を削除' })).toBeFocused()

    await other.getByRole('button', { name: '「二.txt」をダウンロード' }).focus()
    await page.getByRole('button', { name: '「二.txt」を削除' }).click()
    await expect(rows(page)).toHaveCount(2)
    // Pending deletions are executed when the page closes.
    await page.reload()
    for (const each of [page, other])
      await expect(rows(each).getByRole('rowheader')).toHaveText(['三.txt', '一.txt'])
    await expect(other.getByRole('button', { name: '一.txt', exact: true })).toBeFocused()
  })

  test('keeps a file that is uploaded again while its deletion can be undone', async ({ page, account }) => {
    await open(page)
    await choose(page, { '規程.txt': '同じ内容です。' })
    await expect(row(page, '規程.txt')).toContainText('読み取り済み')
    await page.getByRole('button', { name: '「規程.txt」を削除' }).click()
    await expect(rows(page)).toHaveCount(0)
    await choose(page, { '規程.txt': '同じ内容です。' })
    await expect(row(page, '規程.txt')).toContainText('読み取り済み')
    await page.reload()
    await expect(rows(page)).toHaveCount(1)
    expect(await list(account)).toHaveLength(1)
  })

  test('loads twenty at a time, and more near its end', async ({ page, server, account }) => {
    for (let i = 1; i <= 45; i++) await upload(server.url, account, `${i}番目.txt`, `${i}番目の内容`)
    const pages: string[] = []
    page.on('request', (request) => {
      const { pathname, search } = new URL(request.url())
      if (pathname === '/v1/data-source') pages.push(search)
    })
    await open(page)
    await expect(rows(page)).toHaveCount(20)
    for (const count of [40, 45]) {
      await rows(page).last().scrollIntoViewIfNeeded()
      await expect(rows(page)).toHaveCount(count)
    }
    // When the live connection opens, the lists are reloaded: something may have changed meanwhile.
    expect(pages[0]).toBe('?offset=0&limit=20')
    expect([...new Set(pages)].filter((search) => !search.startsWith('?offset=0&'))).toEqual([
      '?offset=20&limit=20',
      '?offset=40&limit=20',
    ])
    await expect(rows(page).last()).toContainText('1番目.txt')
  })

  test('reports a failed load, and retries on request', async ({ page, server, account }) => {
    await upload(server.url, account, '規程.txt', '内容です。')
    await page.route('**/v1/data-source?*', (route) => route.abort())
    await open(page)
    const alert = page.getByRole('alert').filter({ hasText: '読み込みに失敗しました' })
    await expect(alert).toBeVisible()
    await page.unroute('**/v1/data-source?*')
    await alert.getByRole('button', { name: 'やり直す' }).click()
    await expect(row(page, '規程.txt')).toBeVisible()
  })

  test('is up to date after a restart of the server', async ({ page, server, account }) => {
    test.slow()
    await open(page)
    await expect(page.getByText('ファイルはまだありません。')).toBeVisible()
    await server.kill()
    await server.resume()
    await upload(server.url, account, '再開後.txt', '再開後の内容')
    // The longer the server is down, the less often the page retries: up to half a minute apart.
    await expect(row(page, '再開後.txt')).toContainText('読み取り済み', { timeout: 90_000 })
  })

  test('is accessible, on a phone too', async ({ page, server, account }) => {
    test.slow()
    const long = `${'とても長い名前のファイル_'.repeat(8)}.txt`
    await upload(server.url, account, long, '長い名前の内容')
    await upload(server.url, account, '空白だけ.txt', ' \n \n')
    await expect
      .poll(async () => (await list(account)).map(({ status }) => status))
      .toEqual(['failed', 'success'])
    await inspect(page, {
      name: 'data sources',
      open: async () => {
        await open(page)
        await choose(page, { '図面.dwg': '%PDF-1.7' })
        await expect(rows(page)).toHaveCount(2)
        await expect(uploads(page)).toHaveCount(1)
      },
    })
  })
})

test.describe('signed out', () => {
  test.use({ who: null })
  test('the page asks for a sign-in, and returns', async ({ page }) => {
    await page.goto('/home/data-source')
    await expect(page).toHaveURL(/\/login$/)
    await enter(page, emails.user, password)
    await expect(page.getByRole('heading', { level: 1, name: 'ファイル' })).toBeVisible()
  })
})

test('the page is left and opened again like any other', async ({ page }) => {
  await openSkills(page)
  await open(page)
  await expect(page).toHaveTitle('ファイル | Tsumugi')
  await page.goBack()
  await expect(page).toHaveTitle(/スキル/)
})

test.describe('several data sources', () => {
  test('are selected and deleted together, with undo', async ({ page, server, account }) => {
    for (const name of ['一.txt', '二.txt', '三.txt']) await upload(server.url, account, name, name)
    await open(page)
    const bar = page.getByRole('group', { name: '選択中のファイル' })
    await page.getByRole('checkbox', { name: 'すべて選択' }).check()
    await expect(bar).toContainText('3件を選択中')
    await page.getByRole('checkbox', { name: '「二.txt」を選択' }).uncheck()
    await expect(bar).toContainText('2件を選択中')
    await bar.getByRole('button', { name: '削除' }).click()
    await expect(rows(page).getByRole('rowheader')).toHaveText(['二.txt'])
    await expect(page.getByText('2件のファイルを削除しました。')).toBeVisible()
    await page.getByRole('button', { name: '元に戻す' }).click()
    await expect(rows(page)).toHaveCount(3)
    await expect(bar).toHaveCount(0)
  })

  test('are found by name and text, and their size is shown', async ({ page, server, account }) => {
    await upload(server.url, account, '旅費規程.txt', '宿泊費は一泊一万円までとする。')
    await upload(server.url, account, '議事録.txt', '防災訓練は九月に行う。')
    await open(page)
    await expect(row(page, '議事録.txt')).toContainText('読み取り済み')
    await expect(page.getByText(/使用量 \d+ B \/ 5 GB/)).toBeVisible()
    const search = page.getByRole('textbox', { name: '名前と内容を検索' })
    await search.fill('旅費')
    await expect(rows(page).getByRole('rowheader')).toHaveText(['旅費規程.txt'])
    await search.fill('防災')
    await expect(rows(page)).toHaveCount(1)
    await expect(row(page, '議事録.txt').locator('mark')).toHaveText('防災')
    await page.reload()
    await expect(search).toHaveValue('防災')
    await expect(row(page, '議事録.txt')).toBeVisible()
    await search.fill('見当たらない言葉')
    await expect(page.getByText('一致するファイルはありません。')).toBeVisible()
    await page.getByRole('button', { name: '検索語を消去' }).click()
    await expect(rows(page)).toHaveCount(2)
  })
})

test('the page is reached from the sidebar and the palette', async ({ page }) => {
  const heading = page.getByRole('heading', { level: 1, name: 'ファイル' })
  await openSkills(page)
  await page.getByRole('complementary').getByRole('link', { name: 'ファイル' }).click()
  await expect(heading).toBeVisible()
  await openSkills(page)
  await page.keyboard.press('ControlOrMeta+k')
  await page.getByRole('combobox').fill('ファイルの画面')
  await page.keyboard.press('Enter')
  await expect(heading).toBeVisible()
})
