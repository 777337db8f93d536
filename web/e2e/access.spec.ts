import type { Page } from '@playwright/test'
import { breaches, colorRules, inspect, overflow, type Place, ragged } from './support/inspect'
import { pages, visit } from './support/pages'
import { openSkills } from './support/skills'
import { expect, test } from './support/test'

/** Parts of Markdown that are wider than a phone, and an overlong word. */
const wide = [
  '## 見出し\n\n段落の**「強調」**と`コード`です。',
  '| 項目 | 担当 | 期限 | 状況 | 備考 |\n| --- | --- | --- | --- | --- |\n| 会議室の予約 | 総務部 | 三月四日 | 済み | 午前中に連絡 |',
  `\`\`\`ts\nconst endless = '${'x'.repeat(160)}'\n\`\`\``,
  '$$\\int_0^1 \\frac{x^4 (1-x)^4}{1+x^2}\\,dx = \\frac{22}{7} - \\pi + a + b + c + d + e + f + g + h + i + j$$',
  `https://example.com/${'segment'.repeat(30)}`,
  '> 引用です。\n\n1. 一つ目\n2. 二つ目\n   - 入れ子\n\n- [x] 済んだ作業\n- [ ] 残りの作業',
].join('\n\n')

const title = (name: string | RegExp) => (page: Page) =>
  expect(page.getByRole('heading', { level: 1, name })).toBeVisible()

test.describe('accessibility', () => {
  // Each place is checked three times, which is slow on a small machine.
  test.slow()

  test.describe('signed out', () => {
    test.use({ who: null })
    const places: Place[] = [
      { name: '/', open: (page) => page.goto('/').then(() => title(/ことばをつむぐ/)(page)) },
      { name: '/login', open: (page) => page.goto('/login').then(() => title('ログイン')(page)) },
      {
        name: '/login, password',
        open: async (page) => {
          await page.goto('/login')
          await page.getByLabel('メールアドレス').fill('user@demo.example')
          await page.keyboard.press('Enter')
          await page.getByLabel('パスワード', { exact: true }).fill('wrong')
          await page.keyboard.press('Enter')
          await expect(page.getByText('メールアドレスまたはパスワードが正しくありません。')).toBeVisible()
        },
      },
      {
        name: '/logout/success',
        open: (page) => page.goto('/logout/success').then(() => title('ログアウトしました')(page)),
      },
      {
        name: '404',
        open: (page) => page.goto('/nonsense').then(() => title('ページが見つかりません')(page)),
      },
      { name: '403', open: (page) => page.goto('/forbidden').then(() => title(/権限がありません/)(page)) },
    ]
    for (const place of places) test(place.name, ({ page }) => inspect(page, place))
  })

  test('the skills, the favourites, the notices and the menu', async ({ page, account }) => {
    await account.setFavorite('要約')
    await account.newThread('要約', 'とても長い名前のチャットで、一行には収まりません')
    const open = async () => {
      await page.setViewportSize({ width: 1280, height: 800 })
      await openSkills(page)
    }
    await inspect(page, { name: 'skills', open })
    for (const name of [/^お気に入り$/, /^お知らせ/, /さんのメニュー$/]) {
      await open()
      await page.getByRole('banner').getByRole('button', { name }).click()
      await expect(page.getByRole('banner').getByRole('button', { name })).toHaveAttribute(
        'aria-expanded',
        'true',
      )
      expect(await breaches(page), String(name)).toEqual([])
    }
  })

  test('a skill with a composer, a form, and an unavailable one', async ({ page, chat }) => {
    for (const skill of ['汎用チャット', 'ビジネスメール作成', 'ウェブ検索']) {
      await page.setViewportSize({ width: 1280, height: 800 })
      await inspect(page, { name: skill, open: () => chat.open(skill) })
    }
  })

  test('an answer with everything in it, while it is running and after', async ({
    page,
    chat,
    model,
    question,
  }) => {
    model.script(question, { text: wide, token_chars: 8 })
    const middle = model.pause(question, 60)
    const open = async () => {
      await chat.open()
      await chat.ask(`${question}${'長い語'.repeat(80)}${'w'.repeat(120)}`)
      await middle.reached
      await expect(chat.answer).toContainText('会議室の予約')
    }
    await inspect(page, { name: 'writing', open })
    middle.release()
    await chat.finished()
    await page.setViewportSize({ width: 1280, height: 800 })
    await expect(chat.answer.locator('.katex').first()).toBeVisible()
    await inspect(page, { name: 'answer', open: () => expect(chat.answer).toContainText('入れ子') })
  })

  test('the thread sheet on a phone, the palette, the shortcuts and the password page', async ({ page }) => {
    await page.setViewportSize({ width: 390, height: 844 })
    await page.goto('/home/skill')
    await page.getByRole('button', { name: 'チャット一覧を開く' }).click()
    const sheet = page.getByRole('dialog', { name: 'チャット' })
    await expect(sheet.getByRole('textbox', { name: 'チャットを検索' })).toBeVisible()
    expect(await breaches(page), 'sheet').toEqual([])
    expect(await overflow(page)).toEqual({ by: 0, what: [] })
    await page.keyboard.press('Escape')
    await expect(sheet).toBeHidden()

    await page.setViewportSize({ width: 1280, height: 800 })
    await page.keyboard.press('Control+k')
    await expect(page.getByRole('dialog', { name: '検索と操作' }).getByRole('option').first()).toBeVisible()
    expect(await breaches(page), 'palette').toEqual([])
    await page.keyboard.press('Escape')
    await page.keyboard.press('?')
    await expect(page.getByRole('dialog', { name: 'キーボードショートカット' })).toBeVisible()
    expect(await breaches(page), 'shortcuts').toEqual([])

    const open = () => page.goto('/setting').then(() => title('パスワードの変更')(page))
    await inspect(page, { name: 'password', open })
  })

  test.describe('as an administrator', () => {
    test.use({ who: 'admin' })

    test('every page, and none makes a request that is refused', async ({ page }) => {
      test.setTimeout(900_000) // Dozens of pages.
      const phone = { width: 390, height: 800 }
      const enlarged = { width: 720, height: 450 } // 1440 px wide, enlarged to 200 %.
      const outside = async () => {
        const { by, what } = await overflow(page)
        return by > 0 ? [`${by} px: ${what}`] : []
      }
      const checks = [
        { name: 'light', colorScheme: 'light', size: phone, find: () => breaches(page) },
        { name: 'dark', colorScheme: 'dark', size: phone, find: () => breaches(page, colorRules) },
        { name: 'lines', colorScheme: 'light', size: phone, find: () => ragged(page) },
        { name: '200 %', colorScheme: 'dark', size: enlarged, find: outside },
      ] as const
      const found: string[] = []
      page.on('response', (response) => {
        if (!response.ok()) found.push(`${page.url()}: ${response.status()} of ${response.url()}`)
      })
      await page.goto('/setting/about')
      for (const [index, path] of [...pages, '/oauth/device', '/forbidden'].entries()) {
        await visit(page, path)
        await expect(page.getByText('読み込み中...'), path).toHaveCount(0)
        // Every other page in the reverse order, because the browser draws a page again after each change.
        for (const { name, colorScheme, size, find } of index % 2 ? checks.toReversed() : checks) {
          await page.emulateMedia({ colorScheme })
          await page.setViewportSize(size)
          found.push(...(await find()).map((one) => `${path}, ${name}: ${one}`))
        }
      }
      expect(found).toEqual([])
    })
  })
})
