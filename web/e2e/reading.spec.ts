import { readFile } from 'node:fs/promises'
import { hold } from './support/hold'
import { breaches, overflow } from './support/inspect'
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

const flow = `申請の流れです。

\`\`\`mermaid
flowchart LR
  accTitle: 申請の流れ
  A[申請書を<br>提出] --> B{課長の承認}
  B -->|承認| C[<img src=https://evil.example/a.png onerror="stolen=true">経理]
  B -->|差し戻し| A
  click C "javascript:stolen=true"
\`\`\`

\`\`\`mermaid
flowchart LR
  これは図ではない ->->
\`\`\`

以上です。`

test.describe('the appearance of an answer', () => {
  for (const colorScheme of ['light', 'dark'] as const) {
    test(`a diagram is rendered in a sandbox without network access (${colorScheme})`, async ({
      page,
      chat,
      model,
      question,
    }) => {
      const elsewhere: string[] = []
      page.on('request', (request) => {
        if (!/^(?:blob:|data:|http:\/\/(?:localhost|127\.))/.test(request.url()))
          elsewhere.push(request.url())
      })
      await page.emulateMedia({ colorScheme })
      model.script(question, { text: flow, tokens_per_second: -1 })
      await chat.open()
      const frames = () => page.frames().filter((frame) => frame.url().endsWith('/diagram.html'))
      expect(frames()).toHaveLength(0)
      await chat.ask(question)
      await chat.finished()
      const picture = chat.answer.getByRole('img', { name: '申請の流れ' })
      await expect(picture).toBeVisible()
      expect(await picture.evaluate((image: HTMLImageElement) => image.naturalWidth)).toBeGreaterThan(100)
      // An invalid diagram is shown as its source.
      await expect(chat.answer.getByRole('group', { name: 'Mermaidのコード' })).toContainText('図ではない')

      const [frame] = frames()
      expect(frames()).toHaveLength(1)
      expect(await page.locator('iframe').getAttribute('sandbox')).toBe('allow-scripts')
      expect(await frame?.evaluate(() => self.origin)).toBe('null')
      const storage = () => {
        try {
          return String(localStorage.length)
        } catch {
          return 'refused'
        }
      }
      expect(await frame?.evaluate(storage)).toBe('refused')
      expect(elsewhere).toEqual([])
      expect(await page.evaluate(() => window.stolen)).toBeUndefined()

      await chat.answer.getByRole('button', { name: 'コードを表示' }).click()
      await expect(chat.answer.getByText('課長の承認')).toBeVisible()
      await chat.answer.getByRole('button', { name: 'コードを表示' }).click()
      for (const [name, file, begin] of [
        ['図をSVGで保存', 'フローチャート.svg', '<svg'],
        ['図をPNGで保存', 'フローチャート.png', '\u{89}PNG'],
      ] as const) {
        const saved = page.waitForEvent('download')
        await chat.answer.getByRole('button', { name }).click()
        const download = await saved
        expect(download.suggestedFilename()).toBe(file)
        const content = (await readFile(await download.path())).toString('latin1')
        expect(content.slice(0, 4)).toBe(begin)
        expect(content).not.toMatch(/javascript:|href=/)
      }
    })
  }

  test('a diagram fits on a phone, is enlarged by a tap, and has one button for its tools', async ({
    page,
    chat,
    model,
    question,
  }) => {
    await page.setViewportSize({ width: 390, height: 844 })
    const chain = Array.from({ length: 12 }, (_, n) => `S${n}[手順${n}を確認する] --> S${n + 1}[次の手順]`)
    model.script(question, { text: `\`\`\`mermaid\nflowchart LR\n${chain.join('\n')}\n\`\`\`` })
    await chat.open()
    await chat.ask(question)
    await chat.finished()
    const picture = chat.answer.getByRole('img', { name: /^フローチャート/ })
    await expect(picture).toBeVisible()
    const scrolls = await picture.evaluate((image) => {
      const box = image.parentElement
      return box === null || box.scrollWidth > box.clientWidth
    })
    expect(scrolls, 'whether the diagram scrolls sideways').toBe(false)
    const save = chat.answer.getByRole('button', { name: '図をSVGで保存' })
    await expect(save).toBeHidden()
    await chat.answer.getByRole('button', { name: '図の操作' }).click()
    await expect(save).toBeVisible()
    expect(await overflow(page)).toEqual({ by: 0, what: [] })

    const small = (await picture.boundingBox())?.width ?? 0
    await picture.click()
    const large = page.getByRole('dialog', { name: 'フローチャート' })
    await expect
      .poll(async () => (await large.getByRole('img').boundingBox())?.width)
      .toBeGreaterThan(2 * small)
    expect(await breaches(page)).toEqual([])
    await page.keyboard.press('Escape')
    await expect(large).toHaveCount(0)
    await chat.answer.getByRole('button', { name: '図を拡大' }).click()
    await large.getByRole('button', { name: '閉じる' }).click()
    await expect(chat.answer.getByRole('button', { name: '図を拡大' })).toBeFocused()
  })

  test('wide code and tables use the space beside the column, and scroll without it', async ({
    page,
    chat,
    model,
    question,
  }) => {
    const code = `\`\`\`sql\nSELECT ${Array.from({ length: 30 }, (_, i) => `column_${i}`).join(', ')}\n\`\`\``
    await page.setViewportSize({ width: 1440, height: 900 })
    model.script(question, { text: `${wide}\n${code}`, tokens_per_second: -1 })
    model.script('続けてください', { text: 'はい。', tokens_per_second: -1 })
    await chat.open()
    await chat.ask(question)
    await chat.finished()
    const first = chat.answers.first()
    const table = first.getByRole('group', { name: '表' })
    const lines = first.getByRole('group', { name: 'SQLのコード' })
    const size = async (of: typeof table) => (await of.boundingBox()) ?? { x: 0, width: 0 }
    const check = async () => {
      const [text, turn, main] = [
        await size(first.getByText('数字の列が多い表です。')),
        await size(first),
        await size(page.getByRole('main')),
      ]
      for (const one of [table, lines]) {
        const { x, width } = await size(one)
        expect(width).toBeGreaterThan(text.width + 200)
        // Within the turn, which clips its content once it is settled, and within the page.
        expect(x).toBeGreaterThanOrEqual(Math.max(turn.x, main.x))
        expect(x + width).toBeLessThanOrEqual(Math.min(turn.x + turn.width, main.x + main.width))
      }
      // Long lines use the whole width, short text keeps its place.
      expect((await size(lines)).width).toBeGreaterThan(main.width - 120)
    }
    await check()
    for (let times = 0; times < 3; times++) {
      await chat.ask('続けてください')
      await chat.finished()
    }
    await expect(first).toHaveCSS('content-visibility', 'auto')
    await table.scrollIntoViewIfNeeded()
    await check()

    await page.setViewportSize({ width: 390, height: 800 })
    const scrolls = (of: typeof table) => of.evaluate((box) => box.scrollWidth - box.clientWidth)
    for (const one of [table, lines]) {
      expect(await scrolls(one)).toBeGreaterThan(0)
      const end = async () => size(one).then(({ x, width }) => x + width)
      await expect.poll(end).toBeLessThanOrEqual(390)
    }
    const overflow = () => page.evaluate(() => document.documentElement.scrollWidth - innerWidth)
    expect(await overflow()).toBeLessThanOrEqual(0)
  })

  test('links and footnotes find their definitions, details fold, alerts are highlighted', async ({
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
    await answer.getByRole('button', { name: '脚注1', exact: true }).press('Enter')
    await expect(answer.locator('[data-note="1"]')).toBeFocused()
    await answer.getByRole('button', { name: '脚注1の参照元に戻る' }).click()
    await expect(answer.getByRole('button', { name: '脚注1', exact: true })).toBeFocused()
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

  test('a wide table does not squeeze its text, and is complete in print', async ({
    page,
    chat,
    model,
    question,
  }) => {
    model.script(question, { text: wide, tokens_per_second: -1 })
    await chat.open()
    await chat.ask(question)
    await chat.finished()
    const table = chat.answer.getByRole('group', { name: '表' })
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

  test('dark mode still prints on white paper', async ({ page, chat }) => {
    await chat.open()
    await page.getByRole('button', { name: /さんのメニュー$/ }).click()
    await page.getByRole('menuitemradio', { name: 'ダーク' }).click()
    await expect(page.locator('html')).toHaveCSS('color-scheme', 'dark')
    await page.emulateMedia({ media: 'print' })
    await expect(page.locator('html')).toHaveCSS('color-scheme', 'light')
  })

  test('Ctrl+P prints a long thread from its first question', async ({ page, chat, account, model }) => {
    model.script('番目の質問です。', { chars: 600, tokens_per_second: -1 })
    const thread = await account.newThread('汎用チャット', '長いチャット')
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

  test('a thread is printed once for repeated clicks, and not after its reader has left', async ({
    page,
    chat,
    account,
    model,
  }) => {
    model.script('番目の質問です。', { chars: 600, tokens_per_second: -1 })
    const thread = await account.newThread('汎用チャット', '印刷するチャット')
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
    await page.getByRole('button', { name: 'チャットのメニュー' }).click()
    await page.getByRole('menuitem', { name: '印刷' }).click()
    await expect.poll(() => printed).toBe(2)
  })
})

test('a long name of a skill does not widen the page of a phone', async ({ page, chat, account }) => {
  const thread = await account.newThread('汎用チャット', '長い名前のスキルで始めたチャット')
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
    right(await page.getByRole('button', { name: 'チャットのメニュー' }).boundingBox()),
  ).toBeLessThanOrEqual(390)
})

test('the header stays on one line on the narrowest screen, with the link to the skills', async ({
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
