import type { Locator, Page } from '@playwright/test'
import { breaches, inspect } from './support/inspect'
import { type Layout, print, rules } from './support/pdf'
import { markedInk } from './support/pixels'
import { deleteSources, drop, openSources, row, rows, uploadRead } from './support/sources'
import { expect, test } from './support/test'

const target =
  '災害により住居が損壊した社員には、申請により七日以内の特別休暇を与える。賃金は通常どおり支払うものとする。'

/** The viewer: a panel next to the page, or a sheet over it on a narrow screen. */
const viewer = (page: Page): Locator => page.locator('[aria-label^="ファイル「"]')

const shownPage = (page: Page): Locator => viewer(page).locator('[data-page]')

const picturePath = /\/v1\/data-source\/[^/]+\/page\/(\d+)\?width=(\d+)$/

/** The pictures that a page has requested: page and width. */
function watchPictures(page: Page): string[] {
  const asked: string[] = []
  page.on('request', (request) => {
    const match = picturePath.exec(request.url())
    if (match) asked.push(`${match[1]} ${match[2]}`)
  })
  return asked
}

test.beforeEach(({ account }) => deleteSources(account))

test.describe('a passage of a PDF', () => {
  for (const layout of ['横書き', '縦書き', '二段組み'] as const satisfies Layout[])
    test(`is found, opened and marked at its position: ${layout}`, async ({ page, device, browser }) => {
      const name = `就業規則_${layout}.pdf`
      const other = await device()
      for (const each of [page, other]) await openSources(each)
      await drop(page, 'main > div', name, await print(browser, [rules(layout, target)]))
      for (const each of [page, other]) await expect(row(each, name)).toContainText('読み取り済み')

      await page.getByRole('textbox', { name: '名前と内容を検索' }).fill('特別休暇を与える')
      const match = row(page, name).getByRole('button', { name: /特別休暇を与える/ })
      await match.click()
      await expect(page).toHaveURL(/\?q=.+&source=[0-9a-f-]+&passage=[0-9a-f-]+$/)
      await expect(shownPage(page).getByRole('img', { name: `「${name}」1ページ` })).toBeVisible()
      await expect(shownPage(page).locator('[data-mark]').first()).toBeInViewport()
      await page.mouse.move(0, 0)
      const { red, black, ink } = await markedInk(shownPage(page))
      expect(ink, 'the ink of the sentence').toBeGreaterThan(300)
      expect(red, 'of the sentence is marked').toBeGreaterThan(0.97)
      expect(black, 'of everything else is marked').toBeLessThan(0.03)

      // The same URL shows the same place in another tab.
      await other.goto(page.url())
      await expect(shownPage(other).locator('[data-mark]').first()).toBeInViewport()
      await page.keyboard.press('Escape')
      await expect(viewer(page)).toHaveCount(0)
      await expect(match).toBeFocused()
      await expect(page).toHaveURL(/\?q=[^&]+$/)
    })

  test('keeps its marks while pages are turned', async ({ page, account, server, browser }) => {
    const pdf = await print(browser, ['<h1>表紙</h1><p>就業規則集</p>', rules('横書き', target)])
    await uploadRead(server.url, account, '規則集.pdf', pdf)
    await openSources(page, '?q=特別休暇を与える')
    await row(page, '規則集.pdf')
      .getByRole('button', { name: /特別休暇を与える/ })
      .click()
    const marks = shownPage(page).locator('[data-mark]')
    const at = (n: number) =>
      expect(shownPage(page).getByRole('img', { name: `「規則集.pdf」${n}ページ` })).toBeVisible()
    await at(2)
    await expect(marks.first()).toBeInViewport()
    await page.keyboard.press('ArrowLeft')
    await at(1)
    await expect(marks).toHaveCount(0)
    await expect(page).toHaveURL(/&passage=[0-9a-f-]+&page=1$/)
    await page.keyboard.press('ArrowRight')
    await at(2)
    await expect(marks.first()).toBeInViewport()
    await expect(page).toHaveURL(/&passage=[0-9a-f-]+$/)
  })

  test('that could not be located is not marked, which is shown', async ({
    page,
    account,
    server,
    browser,
  }) => {
    const { id } = await uploadRead(
      server.url,
      account,
      '規則.pdf',
      await print(browser, [rules('横書き', target)]),
    )
    const passages = await account.call('GET', `/v1/data-source/${id}/passage`)
    const { items } = (await passages.json()) as { items: { id: string; text: string }[] }
    const passage = items.find(({ text }) => text.includes('特別休暇を与える'))
    await page.route('**/v1/data-source-chunk-embedding/*', async (route) => {
      const response = await route.fetch()
      await route.fulfill({ response, json: { ...(await response.json()), rects: [] } })
    })
    await openSources(page, `?source=${id}&passage=${passage?.id}`)
    await expect(
      viewer(page).getByText('位置を特定できなかったため、ページに印を付けていません。'),
    ).toBeVisible()
    await expect(shownPage(page).getByRole('img')).toBeVisible()
    await expect(shownPage(page).locator('[data-mark]')).toHaveCount(0)
    await viewer(page).getByRole('button', { name: 'テキストで確認' }).click()
    await expect(viewer(page).locator('mark').filter({ hasText: '特別休暇を与える' })).toBeInViewport()
  })
})

test('the viewer works by keyboard alone, and loads no picture twice', async ({
  page,
  account,
  server,
  browser,
}) => {
  const pages = [1, 2, 3, 4].map((n) => `<h1>第${n}章</h1><p>${n}ページの本文です。</p>`)
  await uploadRead(server.url, account, '手引き.pdf', await print(browser, pages))
  const asked = watchPictures(page)
  await page.setViewportSize({ width: 1440, height: 900 })
  await openSources(page)
  await row(page, '手引き.pdf').getByRole('button', { name: '手引き.pdf', exact: true }).focus()
  await page.keyboard.press('Enter')
  const at = (n: number) =>
    expect(shownPage(page).getByRole('img', { name: `「手引き.pdf」${n}ページ` })).toBeVisible()
  await at(1)
  await expect(viewer(page).getByRole('group', { name: '1ページ' })).toBeFocused()
  for (const n of [2, 3]) {
    await page.keyboard.press('ArrowRight')
    await at(n)
  }
  await page.keyboard.press('ArrowLeft')
  await at(2)
  await expect(page).toHaveURL(/&page=2$/)
  const field = viewer(page).getByRole('textbox', { name: 'ページ番号' })
  await field.fill('４')
  await field.press('Enter')
  await at(4)
  await expect(viewer(page).getByRole('button', { name: '次のページ' })).toHaveAttribute(
    'aria-disabled',
    'true',
  )
  expect(new Set(asked).size, asked.join(', ')).toBe(asked.length)
  expect(new Set(asked.map((each) => each.split(' ')[1])).size, 'one width').toBe(1)

  const width = async () => (await shownPage(page).boundingBox())?.width ?? 0
  const before = await width()
  await viewer(page).getByRole('group', { name: '4ページ' }).focus()
  await page.keyboard.press('+')
  await expect.poll(width).toBeGreaterThan(before * 1.2)
  await expect(viewer(page).getByRole('button', { name: '125% 幅に合わせる' })).toBeVisible()
  await page.keyboard.press('0')
  await expect.poll(width).toBe(before)
  await shownPage(page).hover()
  await page.keyboard.down('Control')
  await page.mouse.wheel(0, -120)
  await page.keyboard.up('Control')
  await expect.poll(width).toBeGreaterThan(before * 1.1)
  expect(await page.evaluate(() => window.visualViewport?.scale)).toBe(1)
  await viewer(page).getByRole('button', { name: '全体を表示' }).click()
  await expect(shownPage(page)).toBeInViewport({ ratio: 1 })
  expect(await breaches(page)).toEqual([])

  await page.keyboard.press('Escape')
  await expect(row(page, '手引き.pdf').getByRole('button', { name: '手引き.pdf', exact: true })).toBeFocused()
  await page.goForward()
  await at(4)
  await page.goBack()
  await expect(viewer(page)).toHaveCount(0)
})

test.describe('the text of a file', () => {
  test('other than a PDF is shown with its structure and the passage marked', async ({
    page,
    account,
    server,
  }) => {
    const filler = 'この規程は、出張の手続きと旅費の支給について定める。'.repeat(8)
    const text =
      `# 旅費規程\n\n${filler}\n\n## 宿泊費\n\n| 役職 | 上限 |\n|---|---|\n| 部長 | 12,000円 |\n| 課長 | 10,000円 |\n\n` +
      `## 日当\n\n- 国内は3,000円\n- 国外は8,000円\n\n${filler}`
    await uploadRead(server.url, account, '旅費規程.md', text)
    await openSources(page, '?q=国外は')
    await row(page, '旅費規程.md')
      .getByRole('button', { name: /国外は8,000円/ })
      .click()
    await expect(viewer(page).getByRole('heading', { name: '宿泊費' })).toBeAttached()
    await expect(viewer(page).getByRole('columnheader')).toHaveText(['役職', '上限'])
    await expect(viewer(page).getByRole('cell').nth(3)).toHaveText('10,000円')
    await expect(viewer(page).locator('mark').filter({ hasText: '国外は8,000円' })).toBeInViewport()
    await expect(viewer(page).getByRole('button', { name: 'ページ', exact: true })).toHaveCount(0)
  })

  test('is loaded in parts, back and forth', async ({ page, account, server }) => {
    const lines = Array.from(
      { length: 260 },
      (_, at) => `## 第${at + 1}条\n\n${'社員は規則を守る。'.repeat(30)}`,
    )
    const { id } = await uploadRead(server.url, account, '長い規則.md', lines.join('\n\n'))
    const response = await account.call('GET', `/v1/data-source/${id}/passage?offset=140&limit=1`)
    const { items } = (await response.json()) as { items: { id: string; locator: string }[] }
    await openSources(page, `?source=${id}&passage=${items[0]?.id}`)
    const mark = viewer(page).locator('mark').first()
    await expect(mark).toBeInViewport()
    await viewer(page).getByRole('button', { name: '前の部分を表示' }).click()
    await expect(viewer(page).getByRole('heading', { name: '第50条' })).toBeAttached()
    await viewer(page)
      .getByRole('group', { name: '1ページ' })
      .evaluate((element) => element.scrollTo({ top: element.scrollHeight }))
    await expect(viewer(page).getByRole('heading', { name: '第260条' })).toBeVisible()
  })

  test('of a hostile file does nothing', async ({ page, account, server }) => {
    const html = `<h1>案内</h1><p>本文です。</p><script>window.harmed = true</script>
      <img src="https://harm.example/a.png" onerror="window.harmed = true"><svg onload="window.harmed = true"></svg>
      <p>[見る](javascript:alert(1)) ![絵](https://harm.example/b.png) &lt;img src=x onerror=alert(1)&gt;</p>`
    const { id } = await uploadRead(server.url, account, '案内.html', html)
    const outside: string[] = []
    page.on('request', (request) => {
      if (!request.url().startsWith(server.url) && !request.url().startsWith('blob:'))
        outside.push(request.url())
    })
    await openSources(page, `?source=${id}`)
    await expect(viewer(page).getByText('本文です。')).toBeVisible()
    await expect(viewer(page).locator('script, a, iframe, object, embed')).toHaveCount(0)
    await expect(viewer(page).locator('[class*="text"] img, [class*="text"] svg')).toHaveCount(0)
    expect(await page.evaluate(() => 'harmed' in window)).toBe(false)
    expect(outside).toEqual([])
    const downloading = page.waitForEvent('download')
    await viewer(page).getByRole('button', { name: '原本をダウンロード' }).click()
    expect((await downloading).suggestedFilename()).toBe('案内.html')
  })
})

test.describe('unavailable content', () => {
  test('is reported if it was deleted in any tab', async ({ page, account, server }) => {
    const { id } = await uploadRead(server.url, account, '覚書.txt', '覚書の本文です。')
    await openSources(page, `?source=${id}`)
    await expect(viewer(page).getByText('覚書の本文です。')).toBeVisible()
    await account.call('DELETE', `/v1/data-source/${id}`)
    await expect(page.getByText('このファイルは表示できません')).toBeVisible()
    await page.reload()
    await expect(page.getByText('このファイルは表示できません')).toBeVisible()
    await page.getByRole('button', { name: 'ファイルを閉じる' }).click()
    await expect(page).toHaveURL(/\/home\/data-source$/)
  })

  test('is loaded again after a picture has failed', async ({ page, account, server, browser }) => {
    const pdf = await print(browser, ['<h1>表題</h1><p>本文です。</p>'])
    const { id } = await uploadRead(server.url, account, '表題.pdf', pdf)
    const problem = {
      type: 'about:blank',
      title: 'Unavailable',
      status: 409,
      code: 'conflict',
      detail: '混み合っています。',
    }
    await page.route(picturePath, (route) =>
      route.fulfill({ status: 409, contentType: 'application/problem+json', json: problem }),
    )
    await openSources(page, `?source=${id}`)
    await expect(viewer(page).getByRole('alert')).toContainText('混み合っています。')
    await page.unroute(picturePath)
    await viewer(page).getByRole('button', { name: 'やり直す' }).click()
    await expect(shownPage(page).getByRole('img')).toBeVisible()
  })
})

test('the viewer is accessible, and is a sheet on a phone', async ({ page, account, server, browser }) => {
  test.slow()
  const pdf = await print(browser, [rules('横書き', target)])
  const { id } = await uploadRead(server.url, account, '規則.pdf', pdf)
  await uploadRead(server.url, account, '控え.txt', '控えの本文です。')
  await inspect(page, {
    name: 'viewer',
    open: async () => {
      await openSources(page, `?source=${id}`)
      await expect(shownPage(page).getByRole('img')).toBeVisible()
    },
  })
  const sheet = page.getByRole('dialog', { name: 'ファイル「規則.pdf」' })
  await expect(sheet).toBeVisible()
  expect(await sheet.boundingBox()).toEqual({ x: 0, y: 0, width: 390, height: 844 })
  await page.keyboard.press('Escape')
  await expect(sheet).toHaveCount(0)
  // If a user opened it, going back closes it.
  await row(page, '控え.txt').getByRole('button', { name: '控え.txt', exact: true }).click()
  await expect(page.getByRole('dialog').getByText('控えの本文です。')).toBeVisible()
  await page.goBack()
  await expect(page.getByRole('dialog')).toHaveCount(0)
  await expect(rows(page)).toHaveCount(2)
})
