import { hold } from './support/hold'
import { expect, test } from './support/test'

const wide = `数字の列が多い表です。

| 部署 | 4月 | 5月 | 6月 | 7月 | 8月 | 備考 |
| --- | ---: | ---: | ---: | ---: | ---: | --- |
| 営業部 | 12,345,678円 | 11,234,567円 | 10,123,456円 | 9,012,345円 | 8,901,234円 | 大型案件の検収が9月から10月に延期になったため、下期に計上する予定です。 |

- 印のある項目
- [x] 終わった作業

<https://example.com/rules>
`

const marked = `[規程][r]によります[^1]。H<sub>2</sub>O と <kbd>Ctrl</kbd>。

> [!WARNING]
> 元に戻せません。

- 一
  - 二
    - 三

<details>
<summary>詳しい手順</summary>

1. **最初**の手順

</details>

[r]: https://example.com/rules
[^1]: 就業規則の注です。
`

test.describe('what an answer looks like', () => {
  test('links and footnotes find their definitions, details fold, warnings stand out', async ({
    page,
    chat,
    model,
    question,
  }) => {
    model.script(question, { text: marked, tokens_per_second: 400 })
    await chat.open()
    await chat.ask(question)
    await chat.finished()
    const { answer } = chat
    await expect(answer.getByRole('link', { name: '規程' })).toHaveAttribute(
      'href',
      'https://example.com/rules',
    )
    await answer.getByRole('button', { name: '脚注1' }).press('Enter')
    await expect(answer.locator('[data-note="1"]')).toBeFocused()
    await expect(answer.getByRole('blockquote')).toContainText('警告')
    await expect(answer.getByRole('listitem').filter({ hasText: /^三$/ })).toHaveCSS(
      'list-style-type',
      'square',
    )
    await expect(answer.getByText('最初の手順')).toBeHidden()
    await answer.getByText('詳しい手順').click()
    await expect(answer.getByText('最初の手順')).toBeVisible()
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(
      0,
    )
  })

  test('in a wide table text is not squeezed, and on paper all of it is there', async ({
    page,
    chat,
    model,
    question,
  }) => {
    model.script(question, { text: wide, tokens_per_second: -1 })
    await chat.open()
    await chat.ask(question)
    await chat.finished()
    const table = chat.answer.getByRole('region', { name: '表' })
    const remark = table.getByRole('cell', { name: /大型案件/ })
    const height = () => remark.evaluate((cell) => cell.clientHeight)
    expect(await height()).toBeLessThan(100)
    const item = chat.answer.getByRole('listitem').filter({ hasText: '印のある項目' })
    await expect(item).toHaveCSS('list-style-type', 'disc')
    const task = chat.answer.getByRole('listitem').filter({ hasText: '終わった作業' })
    await expect(task).toHaveCSS('list-style-type', 'none')

    await page.emulateMedia({ media: 'print' })
    await page.setViewportSize({ width: 700, height: 990 })
    const hidden = () => table.evaluate((box) => box.scrollWidth - box.clientWidth)
    expect(await hidden()).toBeLessThanOrEqual(0)
    expect(await height()).toBeLessThan(200)
    const after = (link: Element) => getComputedStyle(link, '::after').content
    expect(await chat.answer.getByRole('link').evaluate(after)).toBe('none')
  })

  test('who has chosen the dark look still prints on white paper', async ({ page, chat }) => {
    await chat.open()
    await page.getByRole('button', { name: /さんのメニュー$/ }).click()
    await page.getByRole('menuitemradio', { name: 'ダーク' }).click()
    await expect(page.locator('html')).toHaveCSS('color-scheme', 'dark')
    await page.emulateMedia({ media: 'print' })
    await expect(page.locator('html')).toHaveCSS('color-scheme', 'light')
  })

  test('Ctrl+P prints a long thread from its first question', async ({ page, chat, account, model }) => {
    model.script('番目の質問です。', { chars: 600, tokens_per_second: -1 })
    const thread = await account.newThread('汎用チャット', '長いスレッド')
    for (let i = 1; i <= 12; i++) await account.ask(thread.id, `${i}番目の質問です。`)
    const printed = new Promise<void>((resolve) => page.exposeFunction('printed', resolve))
    await page.addInitScript(() => {
      window.print = () => (window as unknown as { printed: () => void }).printed()
    })
    await page.goto(`/home/skill/${thread.skill.id}/chat/${thread.id}`)
    await chat.finished()
    await expect(chat.questions).not.toHaveCount(12)
    await page.keyboard.press('Control+p')
    await printed
    await expect(chat.questions).toHaveCount(12)
    await expect(chat.questions.first()).toContainText('1番目の質問です。')
  })

  test('a thread is printed once, however often it is asked for, and not when its reader has left', async ({
    page,
    chat,
    account,
    model,
  }) => {
    model.script('番目の質問です。', { chars: 600, tokens_per_second: -1 })
    const thread = await account.newThread('汎用チャット', '印刷するスレッド')
    for (let i = 1; i <= 12; i++) await account.ask(thread.id, `${i}番目の質問です。`)
    let printed = 0
    await page.exposeFunction('printed', () => printed++)
    await page.addInitScript(() => {
      window.print = () => (window as unknown as { printed: () => void }).printed()
    })
    const askTwice = async () => {
      const older = await hold(page, /offset=20&/)
      const asked = page.waitForRequest(/offset=20&/)
      await page.goto(`/home/skill/${thread.skill.id}/chat/${thread.id}`)
      await chat.finished()
      await page.keyboard.press('Control+p')
      await page.keyboard.press('Control+p')
      await asked
      return older
    }
    const older = await askTwice()
    older.release()
    await expect.poll(() => printed).toBe(1)

    await page.unrouteAll()
    const left = await askTwice()
    await page.getByRole('main').getByRole('link', { name: '汎用チャット' }).click()
    await expect(chat.questions).toHaveCount(0)
    left.release()
    await page.goBack()
    await expect(chat.questions).toHaveCount(12)
    await page.getByRole('button', { name: 'スレッドのメニュー' }).click()
    await page.getByRole('menuitem', { name: '印刷' }).click()
    await expect.poll(() => printed).toBe(2)
  })
})

test('a long name of a skill does not widen the page of a phone', async ({ page, chat, account }) => {
  const thread = await account.newThread('汎用チャット', '長い名前のスキルで始めたスレッド')
  await account.ask(thread.id, '短い質問です。')
  await page.route(/\/v1\/skill\/[0-9a-f-]+$/, async (route) => {
    const response = await route.fetch()
    const skill = (await response.json()) as object
    await route.fulfill({ json: { ...skill, name: '英文契約書の下書きと要点の確認を行うスキル'.repeat(3) } })
  })
  await page.setViewportSize({ width: 390, height: 844 })
  await page.goto(`/home/skill/${thread.skill.id}/chat/${thread.id}`)
  await chat.finished()
  const right = (box: { x: number; width: number } | null) => (box ? box.x + box.width : Number.NaN)
  expect(right(await chat.composer.boundingBox())).toBeLessThanOrEqual(390)
  expect(
    right(await page.getByRole('button', { name: 'スレッドのメニュー' }).boundingBox()),
  ).toBeLessThanOrEqual(390)
})

test('the header keeps to one line on the narrowest screen, and the way to the skills in it', async ({
  page,
}) => {
  for (const width of [360, 320]) {
    await page.setViewportSize({ width, height: 640 })
    await page.goto('/home/skill')
    const header = page.getByRole('banner')
    const home = header.getByRole('link', { name: 'Tsumugi スキル一覧' })
    await expect(home).toBeVisible()
    expect((await home.boundingBox())?.height, `${width} px`).toBeLessThanOrEqual(28)
    const hidden = await header.evaluate((element) => element.scrollWidth - element.clientWidth)
    expect(hidden, `${width} px`).toBe(0)
  }
})
