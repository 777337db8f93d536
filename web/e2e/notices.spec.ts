import type { Locator } from '@playwright/test'
import { heading, open, test } from './support/admin'
import { inspect } from './support/inspect'
import { expect } from './support/test'

test.use({ who: 'admin' })

/** A time tomorrow in Japan, in the format of a field. */
const tomorrow = (time: string) =>
  `${new Date(Date.now() + (24 + 9) * 3_600_000).toISOString().slice(0, 10)}T${time}`

test('an administrator writes a notice, changes it and ends it, and open tabs follow', async ({
  page,
  pageAs,
  signIn,
}) => {
  const member = await pageAs(await signIn('user'))
  await member.goto('/home/skill')
  const cards = member.getByRole('region', { name: 'お知らせ' })
  const card = cards.getByRole('article').filter({ hasText: '年末年始' })

  await open(page, '/admin/contract', '契約')
  await page.getByRole('link', { name: 'お知らせ' }).click()
  await heading(page, 'お知らせ')
  await page.getByRole('link', { name: 'お知らせを作成' }).click()
  await heading(page, 'お知らせの作成')
  await page.getByRole('button', { name: '掲載する' }).click()
  const title = page.getByRole('textbox', { name: 'タイトル' })
  await expect(title).toBeFocused()
  await expect(page.getByText('タイトルを入力してください。')).toBeVisible()
  await title.fill('年末年始の休業日')
  await page
    .getByRole('textbox', { name: '本文' })
    .fill('12月29日からです。\nhttps://example.com/calendarをご覧ください。')
  await page.getByLabel('詳しい内容のURL').fill('javascript:alert(1)')
  await page.getByLabel('掲載の終了').fill('2020-01-01T00:00')
  await page.getByRole('button', { name: '掲載する' }).click()
  await expect(page.getByText('https:// または http:// で始まるURLを入力してください。')).toBeVisible()
  await expect(page.getByText('掲載の開始より後の日時を指定してください。')).toBeVisible()
  await page.getByLabel('詳しい内容のURL').fill('https://example.com/notice')
  await page.getByLabel('掲載の終了').fill(tomorrow('18:00'))
  await page.getByRole('combobox', { name: '種類' }).selectOption('ご注意')
  const preview = page.getByRole('region', { name: '表示の確認' }).getByRole('article')
  await expect(preview.getByRole('link', { name: /calendar/ })).toHaveAttribute(
    'href',
    'https://example.com/calendar',
  )
  // Without the time, which may be a minute later on the card.
  const textOf = async (notice: Locator) => (await notice.textContent())?.replace(/今日 \d+:\d\d/, '')
  const seen = await textOf(preview)

  // Leaving asks first.
  await page.getByRole('link', { name: '一覧に戻る' }).click()
  await page.getByRole('button', { name: 'このページに残る' }).click()
  await page.getByRole('button', { name: '掲載する' }).click()
  await heading(page, 'お知らせ')
  const line = page.getByRole('row').filter({ hasText: '年末年始' })
  await expect(line).toContainText('掲載中')
  await expect(line).toContainText('ご注意')

  // The member sees what the preview showed, without reloading.
  await expect(card).toBeVisible()
  expect(await textOf(card)).toBe(seen)
  await card.getByRole('button', { name: /閉じる$/ }).click()
  await expect(card).toHaveCount(0)

  // A changed notice stays read. The audience and the start of a published one are fixed.
  await line.getByRole('link', { name: '年末年始の休業日' }).click()
  await heading(page, 'お知らせの編集')
  await expect(page.getByRole('combobox', { name: '宛先' })).toBeDisabled()
  await expect(page.getByLabel('掲載の開始')).toBeDisabled()
  await page.getByRole('textbox', { name: 'タイトル' }).fill('年末年始の営業')
  await page.getByRole('button', { name: '保存する' }).click()
  await expect(page.getByText('お知らせを保存しました。')).toBeVisible()
  await member.getByRole('button', { name: /^お知らせ($|、未読)/ }).click()
  const bell = member.getByRole('dialog', { name: 'お知らせ' })
  await expect(bell.getByRole('heading', { name: '年末年始の営業', exact: true })).toBeVisible()
  await expect(card).toHaveCount(0)

  await line.getByRole('button', { name: /掲載を終了$/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: '掲載を終了' }).click()
  await expect(line).toContainText('終了')
  await expect(line.getByRole('button')).toHaveCount(0)
  await expect(bell.getByText('年末年始の営業')).toHaveCount(0)
  await member.reload()
  await expect(member.getByRole('button', { name: /^お知らせ($|、未読)/ })).toBeVisible()
  await expect(member.getByText('年末年始の営業')).toHaveCount(0)

  // An ended notice can only be copied.
  await line.getByRole('link').click()
  await heading(page, 'お知らせの内容')
  await page.getByRole('link', { name: '複製して作成' }).click()
  await expect(page.getByRole('textbox', { name: 'タイトル' })).toHaveValue('年末年始の営業')
  await expect(page.getByLabel('掲載の終了')).toHaveValue('')
  await page.getByRole('link', { name: 'キャンセル' }).click()
  await heading(page, 'お知らせ')

  await page.goto('/admin/audit')
  for (const action of ['お知らせの掲載', 'お知らせの変更', 'お知らせの掲載終了'])
    await expect(page.getByRole('row').filter({ hasText: action }).first()).toContainText('年末年始')
})

test('a notice begins and ends at the configured times, and is deleted before', async ({
  page,
  account,
  pageAs,
  signIn,
}) => {
  const member = await pageAs(await signIn('user'))
  await member.goto('/home/skill')
  await expect(member.getByRole('button', { name: /^お知らせ($|、未読)/ })).toBeVisible()

  await open(page, '/admin/notice/new', 'お知らせの作成')
  await page.getByRole('textbox', { name: 'タイトル' }).fill('棚卸しのお願い')
  await page.getByLabel('掲載の開始').fill(tomorrow('09:00'))
  await page.getByRole('button', { name: '予約する' }).click()
  await heading(page, 'お知らせ')
  const line = page.getByRole('row').filter({ hasText: '棚卸しのお願い' })
  await expect(line).toContainText('予約中')
  await expect(line).toContainText('9:00〜')
  await line.getByRole('button', { name: /削除$/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: '削除' }).click()
  await expect(line).toHaveCount(0)

  const soon = (seconds: number) => new Date(Date.now() + seconds * 1000).toISOString()
  await account.call('POST', '/v1/notification', {
    request_id: crypto.randomUUID(),
    title: '短いお知らせ',
    level: 'maintenance',
    audience: 'all',
    published_at: soon(4),
    ends_at: soon(12),
  })
  const short = page.getByRole('row').filter({ hasText: '短いお知らせ' })
  await page.reload()
  const card = member.getByRole('article').filter({ hasText: '短いお知らせ' })
  await expect(card).toBeVisible()
  await expect(short).toContainText('掲載中')
  await expect(card).toHaveCount(0)
  await expect(short).toContainText('終了')
})

test('the longest notices leave the composer on the screen, and can be read', async ({
  account,
  pageAs,
  signIn,
}) => {
  const ids: string[] = []
  for (const name of ['一', '二', '三']) {
    const created = await account.call('POST', '/v1/notification', {
      request_id: crypto.randomUUID(),
      title: name.repeat(200),
      body: '長いお知らせの本文'.repeat(222),
      url: 'https://example.com/notice',
      level: 'info',
      audience: 'all',
    })
    ids.push(((await created.json()) as { id: string }).id)
  }
  const member = await pageAs(await signIn('user'))
  for (const [size, shown] of [
    [{ width: 1440, height: 900 }, 3],
    [{ width: 390, height: 844 }, 1],
  ] as const) {
    await member.setViewportSize(size)
    await member.goto('/home/skill')
    const folds = member.getByRole('button', { name: /^すべて表示/ })
    await expect(folds).toHaveCount(shown)
    await expect(member.getByRole('main').locator('form')).toBeInViewport({ ratio: 1 })
    await expect(member.getByRole('textbox', { name: 'スキルを検索' })).toBeInViewport({ ratio: 1 })
    const card = member.getByRole('article').first()
    const [at, fold] = [await card.boundingBox(), await folds.first().boundingBox()]
    expect((fold?.x ?? 0) - (at?.x ?? 0)).toBeGreaterThan((at?.width ?? 0) / 2)
    const more = card.getByRole('link', { name: /^詳しく見る/ })
    await expect(more).not.toBeInViewport()
    await folds.first().click()
    await more.scrollIntoViewIfNeeded()
    await expect(more).toBeInViewport({ ratio: 1 })
    await expect(member.getByRole('button', { name: /^折りたたむ/ })).toBeFocused()
    await member.keyboard.press('Enter')
    await expect(more).not.toBeInViewport()
    // A link that the keyboard reaches is never hidden.
    await member.keyboard.press('Shift+Tab')
    await expect(more).toBeFocused()
    await expect(more).toBeInViewport({ ratio: 1 })
  }
  for (const id of ids) await account.call('POST', `/v1/notification/${id}/end`)
})

test('operators’ notices are read-only; the pages are accessible', async ({ page, server }) => {
  await server.publish('定期メンテナンス', '22時から')
  await open(page, '/admin/notice', 'お知らせ')
  const line = page.getByRole('row').filter({ hasText: '定期メンテナンス' })
  await expect(line).toContainText('運用担当者またはシステムから')
  await expect(line.getByRole('button')).toHaveCount(0)
  await line.getByRole('link').click()
  await expect(page.getByText('運用担当者またはシステムからのお知らせのため、変更できません。')).toBeVisible()
  await open(page, '/admin/notice/nonsense', 'お知らせの編集')
  await expect(page.getByText('お知らせが見つかりません。')).toBeVisible()

  await inspect(page, { name: '/admin/notice', open: (at) => open(at, '/admin/notice', 'お知らせ') })
  await page.setViewportSize({ width: 1440, height: 900 })
  await inspect(page, {
    name: '/admin/notice/new',
    open: async (at) => {
      await open(at, '/admin/notice/new', 'お知らせの作成')
      await at.getByRole('textbox', { name: 'タイトル' }).fill('休業日')
      await at.getByRole('textbox', { name: '本文' }).fill('本文\nhttps://example.com')
    },
  })
})
