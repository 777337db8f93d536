import { writeFile } from 'node:fs/promises'
import type { Browser, Locator, Page } from '@playwright/test'
import { listFiles, uploadFile } from './support/files'
import { breaches } from './support/inspect'
import { pdfOf } from './support/pdf'
import { test as base, expect, offline } from './support/test'

const rules = [
  '# 就業規則\n第1条（目的） この規則は、株式会社つむぎの従業員の就業について定める。',
  '# 第2章 勤務時間\n第5条（始業と終業） 始業は午前9時、終業は午後6時とし、休憩は正午から1時間とする。',
  '# 第3章 休暇\n第12条（年次有給休暇） 入社から6か月勤務した従業員には、年次有給休暇を10日付与する。\n第13条（繰越） 使わなかった年次有給休暇は、翌年度に限り繰り越すことができる。',
]
const travel = ['# 旅費規程\n第4条（日当） 国内の出張の日当は、1日につき2,500円とする。']

const skillWithFile = `
skills:
  - key: rule-check
    category: document
    name: 規程の確認
    description: |
      規程を読み、確認したいことに
      答えます。
    icon: document-qa
    task_type: document_qa
    form_type: form
    accepts_data_sources: true
    form_fields:
      - name: rule
        label: 規程
        type: file
        required: true
      - name: text
        label: 確認したいこと
        type: textarea
        required: true
    prompt: |
      あなたは、規程に詳しい総務の担当者である。
`

const chips = (page: Page): Locator =>
  page.getByRole('list', { name: '質問に使うファイル' }).getByRole('listitem')
const cited = (answer: Locator): Locator => answer.getByRole('button', { name: /^出典\d/ })
const viewer = (page: Page): Locator => page.getByRole('complementary', { name: /^ファイル「/ })

/** Drags a file over a page's main part and drops it there. */
async function drop(page: Page, name: string, content: Buffer): Promise<void> {
  const dataTransfer = await page.evaluateHandle(
    ([name, content]) => {
      const bytes = Uint8Array.from(atob(content), (char) => char.charCodeAt(0))
      const transfer = new DataTransfer()
      transfer.items.add(new File([bytes], name, { type: 'application/pdf' }))
      return transfer
    },
    [name, content.toString('base64')] as const,
  )
  for (const type of ['dragover', 'drop'])
    await page.locator('[data-composer]').dispatchEvent(type, { dataTransfer })
}

/** A document of many pages, which takes a while to parse. */
function long(browser: Browser): Promise<Buffer> {
  const page = (n: number) =>
    `# 第${n}章 手順書\n${Array.from({ length: 24 }, (_, i) => `手順${n}-${i + 1}。担当者は、点検の結果を台帳に記録し、責任者に報告する。`).join('\n')}`
  return pdfOf(browser, [...rules, ...Array.from({ length: 150 }, (_, i) => page(i + 1))])
}

/** Resolves when a page has shown a text, even if only for a moment. */
function shown(page: Page, text: RegExp): Promise<void> {
  return page.evaluate(
    (source) =>
      new Promise((resolve) => {
        const check = () => {
          if (!new RegExp(source).test(document.body.textContent)) return
          observer.disconnect()
          resolve()
        }
        const observer = new MutationObserver(check)
        observer.observe(document.body, { subtree: true, childList: true, characterData: true })
        check()
      }),
    text.source,
  )
}

for (const test of [base, offline]) {
  test.beforeEach(async ({ account }) => {
    for (const { id } of await listFiles(account)) await account.call('DELETE', `/v1/data-source/${id}`)
  })
}

offline.describe('a document', () => {
  offline(
    'is dropped, read in every tab, asked about, and opened where the answer cites it',
    async ({ page, context, browser, chat }) => {
      const other = await context.newPage()
      await other.goto('/home/data-source')
      await chat.open('文書に質問')
      const file = await long(browser)
      const reading = Promise.all([page, other].map((tab) => shown(tab, /読み取り中 \d+\/\d+ページ/)))
      await drop(page, '手順書.pdf', file)
      await expect(chips(page)).toContainText('手順書.pdf')
      // The question waits until the file is parsed.
      await chat.composer.fill('年次有給休暇は何日付与されますか。')
      await chat.composer.press('Enter')
      await expect(page.getByText('読み取りが終わりしだい送信します。')).toBeVisible()
      const elsewhere = other.getByRole('row').filter({ hasText: '手順書.pdf' })
      await reading
      await expect(chat.questions.last()).toContainText('手順書.pdf')
      await chat.finished()
      await expect(chat.answer).toContainText('10日')
      await expect(elsewhere).toContainText('読み取り済み')

      const chip = cited(chat.answer).first()
      await expect(chip).toHaveAccessibleName(/^出典\d+、手順書\.pdf 3ページ/)
      await chip.hover()
      await expect(page.getByRole('tooltip')).toContainText('年次有給休暇')
      expect(await breaches(page)).toEqual([])
      await chip.click()
      await expect(viewer(page)).toContainText('手順書.pdf')
      await expect(page).toHaveURL(/\?source=[0-9a-f-]{36}&passage=[0-9a-f-]{36}/)
      // From citation to citation, and back to the chip.
      const place = page.url()
      await expect(viewer(page)).toContainText('（1/')
      await page.keyboard.press(']')
      await expect(viewer(page)).toContainText('（2/')
      await expect(page).not.toHaveURL(place)
      await page.keyboard.press('[')
      await expect(viewer(page)).toContainText('（1/')
      await expect(page).toHaveURL(place)
      await page.keyboard.press('Escape')
      await expect(viewer(page)).toHaveCount(0)
      await expect(chip).toBeFocused()

      // Another tab and a reload have the same.
      await other.goto(new URL(page.url()).pathname)
      await expect(cited(chat.in(other).answer).first()).toHaveAccessibleName(/^出典\d+、手順書\.pdf 3ページ/)
    },
  )

  offline(
    'is asked about again, and is left out of a question',
    async ({ page, browser, server, account, chat }) => {
      await uploadFile(server.url, account, '就業規則.pdf', await pdfOf(browser, rules))
      await uploadFile(server.url, account, '旅費規程.pdf', await pdfOf(browser, travel))
      await chat.open('文書に質問')
      await page.getByRole('button', { name: 'ファイルや画像を追加' }).click()
      const menu = page.getByRole('dialog', { name: 'ファイルや画像を追加' })
      await menu.getByRole('button', { name: /^就業規則\.pdf/ }).click()
      await menu.getByRole('textbox', { name: '名前と内容を検索' }).fill('日当')
      await menu
        .getByRole('list', { name: '見つかったファイル' })
        .getByRole('button', { name: /^旅費規程\.pdf/ })
        .click()
      expect(await breaches(page)).toEqual([])
      await page.keyboard.press('Escape')
      await page.keyboard.press('Escape')
      await expect(chips(page)).toHaveCount(2)

      await chat.ask('出張の日当はいくらですか。')
      await chat.finished()
      await expect(cited(chat.answer).first()).toHaveAccessibleName(/旅費規程\.pdf/)
      // The thread keeps its files for the next question.
      await expect(chips(page)).toHaveCount(2)
      await chat.ask('年次有給休暇は何日付与されますか。')
      await chat.finished()
      await expect(cited(chat.answer).first()).toHaveAccessibleName(/就業規則\.pdf/)

      await page.getByRole('button', { name: '「就業規則.pdf」を外す' }).click()
      await expect(chips(page).filter({ hasText: '就業規則.pdf' })).toContainText('使いません')
      await chat.ask('年次有給休暇の繰越について教えてください。')
      await chat.finished()
      await expect(cited(chat.answer)).toHaveCount(0)
      await expect(chat.questions.last()).not.toContainText('就業規則.pdf')
      await expect(page.getByRole('button', { name: '「就業規則.pdf」を使う' })).toBeVisible()
    },
  )
})

/** A report of some 200 pages, whose summary takes more than 100,000 tokens. */
const report = Array.from(
  { length: 300 },
  (_, i) =>
    `# 第${i + 1}章\n\n事業${i + 1}の売上高は${i + 1}億円である。${'経緯の説明が続いている。'.repeat(30)}`,
).join('\n\n')

offline.describe('a summary', () => {
  offline(
    'that takes many tokens is asked for, and begins once that is accepted',
    async ({ page, server, account, chat }) => {
      await uploadFile(server.url, account, '報告書.md', report)
      await chat.open('要約')
      await page.getByRole('button', { name: 'ファイルや画像を追加' }).click()
      await page.getByRole('button', { name: /^報告書\.md/ }).click()
      await page.keyboard.press('Escape')
      const dialog = page.getByRole('dialog', { name: '使用するトークンの確認' })
      for (const cancel of ['Escape', 'Enter']) {
        await chat.composer.fill('要約してください。')
        await chat.composer.press('Enter')
        await expect(dialog).toContainText(/約1\d万トークンを使用します。続けますか？/)
        expect(await breaches(page)).toEqual([])
        await expect(dialog.getByRole('button', { name: 'キャンセル' })).toBeFocused()
        await page.keyboard.press(cancel)
        await expect(dialog).toHaveCount(0)
        await expect(chat.composer).toHaveValue('要約してください。')
        await expect(chat.composer).toBeFocused()
        await expect(chips(page)).toContainText('報告書.md')
        await expect(chat.questions).toHaveCount(0)
      }

      await chat.composer.press('Enter')
      await expect(dialog).toBeVisible()
      await page.keyboard.press('Tab')
      await page.keyboard.press('Enter')
      await chat.finished()
      await expect(chat.answer).toContainText('億円')
      await expect(chat.questions).toHaveCount(1)
      await expect(chat.composer).toHaveValue('')
      const threadId = await chat.threadId()
      const usage = async () => {
        const { items } = await (await account.call('GET', `/v1/message?thread_id=${threadId}`)).json()
        return items[0].usage?.input_tokens ?? Number.POSITIVE_INFINITY
      }
      expect(await usage()).toBeGreaterThan(100_000)
      // The notes are stored, so the same question takes few tokens.
      await chat.answer.getByRole('button', { name: '回答を再生成' }).click()
      await expect.poll(usage).toBeLessThan(100_000)
      await chat.finished()
      await expect(dialog).toHaveCount(0)
    },
  )
})

offline.describe('a question', () => {
  offline(
    'that the documents do not answer gets an honest answer',
    async ({ page, browser, server, account, chat }) => {
      await uploadFile(server.url, account, '旅費規程.pdf', await pdfOf(browser, travel))
      await chat.open('文書に質問')
      await page.getByRole('button', { name: 'ファイルや画像を追加' }).click()
      await page.getByRole('button', { name: /^旅費規程\.pdf/ }).click()
      await page.keyboard.press('Escape')
      await chat.ask('火星の衛星の名前を教えてください。')
      await chat.finished()
      await expect(chat.answer.locator('[data-citation]')).toHaveCount(0)
      await expect(chat.answer.getByRole('heading', { name: '出典' })).toHaveCount(0)
      await expect(chat.answer).toContainText(/見当たりません|見つかりません/)
    },
  )

  offline('waits for its file over a reload, and can be taken back', async ({ page, browser, chat }) => {
    // Without an event, the page shows the file as being parsed.
    let isDeaf = true
    await page.routeWebSocket(/\/v1\/live$/, (socket) => {
      if (!isDeaf) socket.connectToServer()
    })
    await chat.open('文書に質問')
    await drop(page, '就業規則.pdf', await pdfOf(browser, rules))
    await chat.composer.fill('年次有給休暇は何日付与されますか。')
    await expect(chips(page)).toContainText('待機中')
    await chat.composer.press('Enter')
    await page.getByRole('button', { name: '送信を取り消す' }).click()
    await expect(chat.composer).toBeEditable()
    await chat.composer.press('Enter')
    await expect(page.getByText('読み取りが終わりしだい送信します。')).toBeVisible()
    await expect(chat.composer).toHaveValue('年次有給休暇は何日付与されますか。')
    await expect(chat.composer).not.toBeEditable()
    isDeaf = false
    await page.reload()
    await chat.finished()
    await expect(chat.answer).toContainText('10日')
    await expect(chat.questions).toHaveCount(1)
    await expect(chat.composer).toHaveValue('')
  })
})

base.describe('an answer', () => {
  base(
    'says where a citation is not supported, and keeps its sources when it is copied',
    async ({ page, browser, server, account, model, chat, question }) => {
      await uploadFile(server.url, account, '就業規則.pdf', await pdfOf(browser, rules))
      model.script(question, {
        text: '年次有給休暇は99日です[1]。\n\n| 項目 | 日数 |\n| --- | --- |\n| 休暇 | 99日[1] |\n\n`[1]`',
      })
      await chat.open('文書に質問')
      await page.getByRole('button', { name: 'ファイルや画像を追加' }).click()
      await page.getByRole('button', { name: /^就業規則\.pdf/ }).click()
      await page.keyboard.press('Escape')
      await chat.ask(`年次有給休暇は何日ですか。${question}`)
      await chat.finished()
      const inText = chat.answer.locator('[data-citation]')
      await expect(inText).toHaveCount(2)
      await expect(inText.first()).toHaveAccessibleName(/^出典1、就業規則\.pdf \dページ、要確認$/)
      await expect(chat.answer.getByRole('group', { name: '出典' })).toContainText('要確認')
      await inText.first().focus()
      expect(await breaches(page)).toEqual([])
      await chat.ask(`もう一度、${question}`)
      await chat.finished()
      await expect(page.getByRole('group', { name: '出典' })).toHaveCount(2)
      expect(await breaches(page), 'two answers with sources').toEqual([])
      expect(await chat.copied()).toMatch(
        /99日です\[1\][\s\S]*出典\n\n\[1\] 就業規則\.pdf \dページ（要確認）$/,
      )
    },
  )

  base(
    'is given by a form with a file',
    async ({ page, browser, server, account, model, chat, question }, info) => {
      const path = info.outputPath('skill.yaml')
      await writeFile(path, skillWithFile)
      await server.operate('skill', 'import', path, '--all')
      model.script(question, { text: '確認しました[1]。' })
      await uploadFile(server.url, account, '就業規則.pdf', await pdfOf(browser, rules))
      await chat.open('規程の確認')
      await page.getByRole('button', { name: '実行' }).click()
      await expect(page.getByText('規程を選択してください。')).toBeVisible()
      await page
        .getByRole('button', { name: /ファイルを選択|規程/ })
        .first()
        .click()
      await page.getByRole('button', { name: /^就業規則\.pdf/ }).click()
      await page.getByLabel('確認したいこと').fill(question)
      expect(await breaches(page)).toEqual([])
      await page.getByRole('button', { name: '実行' }).click()
      await chat.finished()
      await expect(chat.questions.last()).toContainText('就業規則.pdf')
      await expect(chat.answer.locator('[data-citation]')).toHaveCount(1)
    },
  )
})
