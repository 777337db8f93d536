import { hold } from './support/hold'
import { breaches } from './support/inspect'
import { openSkills } from './support/skills'
import { expect, test } from './support/test'

test.describe('the sending key', () => {
  test('can be chosen, and the texts around the composer follow', async ({ chat, page, model }) => {
    model.script('一行目', { text: '承知しました。' })
    await chat.open()
    const tip = page.locator('[role="tooltip"]')
    await chat.send.hover()
    await expect(tip).toHaveText('送信Enter（改行は Shift + Enter）')
    await page.getByRole('button', { name: /さんのメニュー$/ }).click()
    await page.getByRole('menuitemradio', { name: 'Ctrl + Enter' }).click()
    await page.keyboard.press('Escape')
    await page.reload()
    await chat.send.hover()
    await expect(tip).toHaveText('送信Ctrl + Enter（改行は Enter）')
    await chat.composer.fill('一行目')
    await page.keyboard.press('Enter')
    await page.keyboard.type('二行目')
    await expect(chat.composer).toHaveValue('一行目\n二行目')
    await page.keyboard.press('Control+Enter')
    await expect(chat.composer).toHaveValue('')
    await chat.finished()
    await chat.composer.blur()
    await page.keyboard.press('?')
    await expect(page.getByRole('dialog').getByText('Ctrl + Enter')).toBeVisible()
  })

  test.describe('on a touch screen', () => {
    test.use({ hasTouch: true, isMobile: true, viewport: { width: 390, height: 844 } })

    test('is only the button, and Enter inserts a line break', async ({ chat, page, model }) => {
      model.script('一行目', { text: '承知しました。' })
      await chat.open()
      await chat.composer.tap()
      await chat.composer.fill('一行目')
      await page.keyboard.press('Enter')
      await page.keyboard.type('二行目')
      await expect(chat.composer).toHaveValue('一行目\n二行目')
      await chat.send.tap()
      await expect(chat.questions.last()).toContainText('二行目')
      await chat.finished()
    })

    test('leaves 70 % of the height to the text, and stays above the keyboard and within the safe area', async ({
      chat,
      page,
      model,
      account,
      question,
    }) => {
      const wide = 'graph LR; A[申請書の提出]-->B[承認]-->C[発注]-->D[納品]-->E[検収]-->F[支払]-->G[記帳]'
      model.script(question, { text: `手順です。\n\n\`\`\`mermaid\n${wide}\n\`\`\`` })
      await chat.open()
      await chat.composer.fill(question)
      await chat.send.tap()
      await chat.finished()
      const text = page.locator('[data-scroller]')
      const height = async () => (await text.boundingBox())?.height ?? 0
      expect(await height()).toBeGreaterThanOrEqual(0.7 * 844)
      // Above the composer, the text fades out over 24 px.
      const fade = await page.locator('[data-print]', { has: chat.composer }).evaluate((foot) => {
        const { content, top, height, backgroundImage } = getComputedStyle(foot, '::before')
        const paper = getComputedStyle(document.body).backgroundColor
        return { content, top, height, image: backgroundImage.replace(paper, 'paper') }
      })
      const image = 'linear-gradient(rgba(0, 0, 0, 0), paper)'
      expect(fade).toEqual({ content: '""', top: '-24px', height: '24px', image })

      const drawing = chat.answer.getByRole('group', { name: 'フローチャート' }).getByRole('img')
      await expect(drawing).toBeVisible()
      expect(
        await drawing.evaluate(({ parentElement: box }) => box && box.scrollWidth - box.clientWidth),
      ).toBe(0)
      await drawing.tap()
      const enlarged = page.getByRole('dialog', { name: 'フローチャート' })
      await expect(enlarged).toBeVisible()
      await enlarged.getByRole('button', { name: '閉じる' }).tap()
      await expect(enlarged).toHaveCount(0)

      await page.getByRole('button', { name: 'スキルを選択' }).tap()
      const skills = page.getByRole('listbox', { name: 'スキル' })
      await expect(skills).toBeFocused()
      await expect(skills.getByRole('option')).toHaveCount((await account.skills()).length)
      expect(await breaches(page)).toEqual([])
      const box = await skills.evaluate(({ parentElement }) =>
        parentElement?.getBoundingClientRect().toJSON(),
      )
      expect(box).toMatchObject({ x: 0, width: 390, bottom: 844 })
      await page.keyboard.press('Escape')
      await expect(skills).toHaveCount(0)
      await page.getByRole('button', { name: 'スキルを選択' }).tap()
      await skills.getByRole('option').last().scrollIntoViewIfNeeded()
      await expect(skills.getByRole('option').last()).toBeInViewport({ ratio: 1 })
      await skills.getByRole('option', { name: /^壁打ち/ }).tap()
      await expect(page.getByRole('heading', { level: 1, name: '壁打ち' })).toBeVisible()

      const bottom = () =>
        chat.composer.evaluate((field) => field.closest('form')?.getBoundingClientRect().bottom)
      const session = await page.context().newCDPSession(page)
      const insets = { top: 47, bottom: 34 }
      await session.send('Emulation.setSafeAreaInsetsOverride', { insets })
      await expect.poll(bottom).toBeLessThanOrEqual(844 - 34)
      expect((await page.getByRole('banner').boundingBox())?.y).toBe(47)
      await session.send('Emulation.setSafeAreaInsetsOverride', { insets: {} })

      // The keyboard of Safari covers the page instead of shrinking it.
      await page.evaluate(() => {
        Object.defineProperty(visualViewport, 'height', { value: 500 })
        visualViewport?.dispatchEvent(new Event('resize'))
      })
      await expect.poll(bottom).toBeLessThanOrEqual(500)
    })
  })
})

test.describe('the skills in the composer', () => {
  test('are offered by a mark or the button, and take the question along', async ({
    chat,
    page,
    account,
  }) => {
    const names = (await account.skills()).map(({ name }) => name)
    await openSkills(page)
    const list = page.getByRole('listbox', { name: 'スキル' })
    const offered = list.getByRole('option')
    await chat.composer.fill('来週の予定を英語で')
    await chat.composer.press('End')
    await page.keyboard.type(' ＠翻')
    await expect(offered).toHaveText([/^翻訳/])
    // Without a choice, the typed text stays.
    await page.keyboard.press('Escape')
    await expect(list).toHaveCount(0)
    await expect(chat.composer).toHaveValue('来週の予定を英語で ＠翻')
    await chat.composer.fill('山田@example.comへ')
    await expect(list).toHaveCount(0)

    await chat.composer.fill('来週の予定を英語で')
    await page.getByRole('button', { name: 'スキルを選択' }).click()
    await expect(chat.composer).toBeFocused()
    await expect(offered).toHaveCount(names.length)
    expect(await breaches(page)).toEqual([])
    await page.keyboard.type('質問')
    await expect(offered.first()).toHaveText(/^文書に質問/)
    await page.keyboard.press('Enter')
    await expect(page.getByRole('heading', { level: 1, name: '文書に質問' })).toBeVisible()
    await expect(chat.composer).toHaveValue('来週の予定を英語で')
    await expect(chat.composer).toBeFocused()
    await openSkills(page)
    await expect(chat.composer).toHaveValue('')

    // The draft stays where it is if the skill has a form.
    await chat.composer.fill('お礼のメール')
    await chat.composer.press('End')
    await page.keyboard.press('Shift+Enter')
    await page.keyboard.type('/メール')
    await offered.filter({ hasText: 'ビジネスメール作成' }).click()
    await expect(page.getByRole('heading', { level: 1, name: 'ビジネスメール作成' })).toBeVisible()
    await page.goBack()
    await expect(chat.composer).toHaveValue('お礼のメール\n')
  })
})

test.describe('drafts', () => {
  test('outlive the tab, and are the same in every tab', async ({ chat, page, context }) => {
    await chat.open()
    await chat.composer.fill('あとで送る質問')
    const second = await context.newPage()
    await second.goto(page.url())
    await page.close()
    const again = chat.in(second)
    await expect(again.composer).toHaveValue('あとで送る質問')
    const third = await context.newPage()
    await third.goto(second.url())
    const other = chat.in(third)
    await expect(other.composer).toHaveValue('あとで送る質問')
    await again.composer.blur()
    await other.composer.fill('書き直した質問')
    await expect(again.composer).toHaveValue('書き直した質問')
  })

  test('follow into the thread that is being created', async ({ chat, page, model, question }) => {
    model.script(question, { text: '回答です。' })
    const creation = await hold(page, /\/v1\/thread$/)
    await chat.open()
    await chat.ask(question)
    await chat.composer.fill('続けて入力した質問')
    const composer = await chat.composer.elementHandle()
    creation.release()
    await chat.threadId()
    await chat.finished()
    await expect(chat.composer).toHaveValue('続けて入力した質問')
    // The page stays, and with it the focus and open dialogs.
    expect(await composer?.evaluate((e) => e.isConnected && e === document.activeElement)).toBe(true)
    await chat.open()
    await expect(chat.composer).toHaveValue('')
  })
})

test.describe('questions sent during an answer', () => {
  test('wait over the composer, outlive a reload, and are sent in order, once', async ({
    chat,
    page,
    model,
    context,
    question,
  }) => {
    const [second, third] = [`二つ目。${question}`, `三つ目。${question}`]
    model.script(question, { text: '一つ目の回答です。' })
    model.script(second, { text: '二つ目の回答です。' })
    model.script(third, { text: '三つ目の回答です。' })
    const pause = model.pause(question, 1)
    await chat.open()
    await chat.ask(question)
    await chat.threadId()
    const queue = page.getByRole('region', { name: '送信待ちの質問' })
    const sendLater = page.getByRole('button', { name: '回答が終わりしだい送信' })
    for (const content of [second, third, '取り消す質問']) {
      await chat.composer.fill(content)
      await expect(sendLater).toBeEnabled() // A queue needs the id of the thread.
      await chat.composer.press('Enter')
      await expect(chat.composer).toHaveValue('')
    }
    await expect(queue.getByText('回答が終わりしだい送信します')).toBeVisible()
    await expect(queue.getByRole('listitem')).toHaveText([second, third, '取り消す質問'])
    await queue.getByRole('button', { name: '送信を取り消す' }).last().click()
    await expect(queue.getByRole('listitem')).toHaveText([second, third])
    await queue.getByRole('button', { name: '編集する' }).last().click()
    await expect(chat.composer).toHaveValue(third)
    await chat.composer.press('Enter')

    const other = await context.newPage()
    await other.goto(page.url())
    await page.reload()
    await expect(queue.getByRole('listitem')).toHaveText([second, third])
    await expect(other.getByRole('region', { name: '送信待ちの質問' })).toBeVisible()
    pause.release()
    for (const tab of [chat, chat.in(other)]) {
      await expect(tab.questions).toHaveCount(3)
      await expect(tab.answer).toContainText('三つ目の回答です。')
      await expect(tab.questions.nth(1)).toContainText(second)
    }
    await expect(queue).toHaveCount(0)
    expect(model.asked(second)).toBe(1)
    expect(model.asked(third)).toBe(1)
  })

  test('follow the first question, even if they are sent before its thread exists', async ({
    chat,
    page,
    model,
    question,
  }) => {
    const next = `次です。${question}`
    model.script(question, { text: '一つ目の回答です。' })
    model.script(next, { text: '次の回答です。' })
    const creation = await hold(page, /\/v1\/thread$/)
    await openSkills(page)
    await chat.ask(question)
    await chat.composer.fill(next)
    await chat.composer.press('Enter')
    await expect(page.getByText('回答が終わりしだい送信します')).toBeVisible()
    creation.release()
    await expect(chat.questions).toHaveCount(2)
    await expect(chat.answer).toContainText('次の回答です。')
    await expect(chat.composer).toHaveValue('')
    await expect(chat.composer).toBeEditable()
  })

  test('stay in the queue after a stopped answer, until the user sends them', async ({
    chat,
    page,
    model,
    question,
  }) => {
    const next = `次です。${question}`
    model.script(question, { text: '長い回答です。'.repeat(40) })
    model.script(next, { text: '次の回答です。' })
    const pause = model.pause(question, 2)
    await chat.open()
    await chat.ask(question)
    await chat.threadId()
    await expect(async () => {
      await chat.composer.fill(next)
      await page.getByRole('button', { name: '回答が終わりしだい送信' }).click({ timeout: 2000 })
    }).toPass()
    await expect(chat.composer).toHaveValue('')
    await chat.stop.click()
    await expect(chat.answer).toContainText('停止しました')
    pause.release()
    const queue = page.getByRole('region', { name: '送信待ちの質問' })
    await expect(queue.getByText('前の回答が完了していないため、送信を保留しています')).toBeVisible()
    expect(model.asked(next)).toBe(0)
    await queue.getByRole('button', { name: '送信する' }).click()
    await expect(chat.answer).toContainText('次の回答です。')
    await expect(queue).toHaveCount(0)
  })
})

test('a rating is withdrawn by a second click, in every tab and after a reload', async ({
  chat,
  page,
  model,
  question,
}) => {
  model.script(question, { text: '評価する回答です。' })
  await chat.open()
  await chat.ask(question)
  await chat.finished()
  const good = chat.answer.getByRole('button', { name: '良い回答' })
  const answered = () => page.waitForResponse(/\/v1\/message_feedback/)
  let response = answered()
  await good.click()
  await response
  await expect(good).toHaveAttribute('aria-pressed', 'true')
  response = answered()
  await good.click()
  expect((await response).status()).toBe(204)
  await expect(good).toHaveAttribute('aria-pressed', 'false')
  await page.reload()
  await expect(good).toHaveAttribute('aria-pressed', 'false')
})

test('dropped or pasted files are refused with a notice by a skill without files', async ({ chat, page }) => {
  await chat.open('用語の説明')
  const notice = page.getByText('ここではファイルや画像を使用できません。')
  for (const type of ['drop', 'paste']) {
    await chat.composer.evaluate((field, name) => {
      const data = new DataTransfer()
      data.items.add(new File(['a'], 'a.png', { type: 'image/png' }))
      const options = { bubbles: true, cancelable: true }
      field.dispatchEvent(
        name === 'drop'
          ? new DragEvent(name, { ...options, dataTransfer: data })
          : new ClipboardEvent(name, { ...options, clipboardData: data }),
      )
    }, type)
    await expect(notice).toBeVisible()
    await page.getByRole('button', { name: '閉じる' }).click()
    await expect(notice).toHaveCount(0)
  }
})
