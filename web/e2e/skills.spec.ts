import { hold } from './support/hold'
import { card, cards, openSkills } from './support/skills'
import { expect, test } from './support/test'

test.describe('the skills', () => {
  test('are found by words and by category, which are in the URL', async ({ page, account }) => {
    await openSkills(page)
    for (const { name } of await account.skills()) {
      await expect(page.getByRole('heading', { level: 3, name, exact: true })).toBeVisible()
    }
    await page.getByRole('textbox', { name: 'スキルを検索' }).fill('翻訳')
    await expect(page).toHaveURL(/\?q=/)
    await expect(page.getByRole('heading', { level: 3, name: '翻訳' })).toBeVisible()
    await expect(page.getByRole('heading', { level: 3, name: '壁打ち' })).toHaveCount(0)
    await page.reload()
    await expect(page.getByRole('textbox', { name: 'スキルを検索' })).toHaveValue('翻訳')
    await page.getByRole('textbox', { name: 'スキルを検索' }).fill('存在しないスキル')
    await expect(page.getByText('一致するスキルはありません。')).toBeVisible()
    await page.getByRole('button', { name: '絞り込みを解除' }).click()
    const chips = page.getByRole('group', { name: '分類' }).getByRole('button')
    await chips.nth(1).click()
    await expect(page).toHaveURL(/\?category=/)
    const id = new URL(page.url()).searchParams.get('category')
    const names = (await account.skills()).filter((skill) => skill.category_id === id).map(({ name }) => name)
    await expect
      .poll(() =>
        cards(page)
          .allTextContents()
          .then((all) => all.sort()),
      )
      .toEqual(names.sort())
  })

  test('are found by hidden keywords, in the list and in the palette', async ({ page }) => {
    await openSkills(page)
    const search = page.getByRole('textbox', { name: 'スキルを検索' })
    for (const [query, name] of [
      ['英語', '翻訳'],
      ['えくせる', 'Excel・関数の相談'],
      ['ﾌﾟﾛｸﾞﾗﾑ', 'コードの相談'],
    ] as const) {
      await search.fill(query)
      await expect(cards(page)).toHaveText([name])
    }
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox').fill('英語')
    await expect(page.getByRole('option', { name: '翻訳', exact: true })).toBeVisible()
  })

  test('are below a composer that begins a general chat, with its draft, at once', async ({
    chat,
    page,
    model,
    question,
  }) => {
    model.script(question, { text: 'はい、一つずつ進めましょう。' })
    await openSkills(page)
    await expect(chat.composer).not.toBeFocused()
    await page.keyboard.press('/')
    await expect(chat.composer).toBeFocused()
    await chat.composer.fill(question)
    await page.reload()
    await expect(chat.composer).toHaveValue(question)

    const made = await hold(page, /\/v1\/thread$/)
    const skill = page.waitForRequest(/\/v1\/skill\//, { timeout: 2000 }).then(
      () => 'asked',
      () => 'not asked',
    )
    await chat.composer.press('Shift+Enter')
    await expect(page).toHaveURL(/\/home\/skill$/)
    await chat.composer.press('Enter')
    // Before the thread exists: the question is shown without waiting for the server.
    await expect(chat.questions).toContainText(question)
    expect(await skill).toBe('not asked')
    made.release()
    await chat.finished()
    await chat.threadId()
    await expect(chat.answer).toContainText('一つずつ進めましょう')
    await expect(chat.composer).toHaveValue('')
    await page.goBack()
    await expect(page).toHaveURL(/\/home\/skill$/)
    await expect(chat.composer).toHaveValue('')
  })

  test('return a question that the server refuses', async ({ chat, page, question }) => {
    await openSkills(page)
    await page.route('**/v1/thread', (route) =>
      route.request().method() === 'POST'
        ? route.fulfill({
            status: 403,
            contentType: 'application/problem+json',
            body: '{"status":403,"code":"forbidden","detail":"お使いになれません。"}',
          })
        : route.fallback(),
    )
    await chat.composer.fill(question)
    await chat.composer.press('Enter')
    await expect(page.getByText('お使いになれません。')).toBeVisible()
    await expect(chat.composer).toHaveValue(question)
    await expect(page).toHaveURL(/\/home\/skill\/[0-9a-f-]+$/)
  })

  test('that cannot be loaded leave no gap, and are loaded again', async ({ page }) => {
    await page.route(/\/v1\/skill\?/, (route) => route.fulfill({ status: 400, json: {} }))
    await page.goto('/home/skill')
    const again = page.getByRole('main').getByRole('button', { name: 'やり直す' })
    await expect(again).toBeVisible()
    const greeting = await page.getByRole('heading', { level: 1 }).boundingBox()
    const search = await page.getByRole('textbox', { name: 'スキルを検索' }).boundingBox()
    if (!greeting || !search) throw new Error('not shown')
    expect(search.y - greeting.y - greeting.height).toBeLessThan(60)
    await page.unroute(/\/v1\/skill\?/)
    await again.click()
    await expect(cards(page).first()).toBeVisible()
    await expect(page.getByRole('textbox', { name: '質問' })).toBeVisible()
  })

  test('keep their position for a user who returns from one', async ({ page }) => {
    await openSkills(page)
    const main = page.getByRole('main')
    const last = card(page, 'コードの相談')
    await last.scrollIntoViewIfNeeded()
    const top = await main.evaluate((element) => element.scrollTop)
    expect(top).toBeGreaterThan(0)
    await last.click()
    await expect(page.getByRole('heading', { level: 1, name: 'コードの相談' })).toBeVisible()
    await page.goBack()
    await expect(last).toBeInViewport()
  })

  test('become favourites by their star, and the dropdown pages through them', async ({ page, account }) => {
    await account.reset()
    await page.goto('/home/skill')
    await page.getByRole('button', { name: 'お気に入り', exact: true }).click()
    const box = page.getByRole('group', { name: 'お気に入り' })
    await expect(box.getByText('お気に入り済みのスキルはありません。')).toBeVisible()
    await page.keyboard.press('Escape')

    const names = (await account.skills()).map(({ name }) => name).slice(0, 14)
    for (const name of names.slice(1)) await account.setFavorite(name)
    const added = page.waitForResponse('**/v1/favorite_skill')
    await page.getByRole('button', { name: `「${names[0]}」をお気に入りに追加` }).click()
    await expect(page.getByRole('button', { name: `「${names[0]}」をお気に入りから外す` })).toBeVisible()
    await added

    const pages: string[] = []
    page.on('request', (request) => {
      const { pathname, search } = new URL(request.url())
      if (pathname === '/v1/favorite_skill' && request.method() === 'GET') pages.push(search)
    })
    await page.getByRole('button', { name: 'お気に入り', exact: true }).click()
    await expect(box.getByRole('link').nth(9)).toBeVisible()
    await expect(box.getByRole('link').first()).toHaveText(names[0] ?? '')
    // With its border, and after its animation: it grows a little.
    const panel = box.locator('..')
    const size = async () => {
      const { width, height } = (await panel.boundingBox()) ?? { width: 0, height: 0 }
      return [Math.round(width), Math.round(height)]
    }
    await expect.poll(size).toEqual([530, 382])
    expect(pages).toEqual(['?offset=0&limit=10'])
    await box.getByRole('link').last().scrollIntoViewIfNeeded()
    await expect(box.getByRole('link')).toHaveCount(14)
    expect(pages).toEqual(['?offset=0&limit=10', '?offset=10&limit=10'])

    await box.getByRole('link', { name: names[3] ?? '', exact: true }).click()
    await expect(page.getByRole('heading', { level: 1, name: names[3] ?? '' })).toBeVisible()
    await account.reset()
  })

  test('with a form report missing values, and send the form', async ({ chat, page, account, model }) => {
    const { form_fields: fields } = await account.skill('ビジネスメール作成')
    await chat.open('ビジネスメール作成')
    await page.getByRole('button', { name: '実行' }).click()
    // Required choices begin with their first option.
    for (const { label } of fields.filter(({ required, type }) => required && type !== 'select'))
      await expect(page.getByText(`${label}を入力してください。`)).toBeVisible()
    await expect(page.getByLabel('宛先')).toBeFocused()

    await page.getByLabel('宛先').fill('株式会社山川商事 佐藤様')
    for (const { label, options } of fields.filter(({ type }) => type === 'select'))
      await page.getByLabel(label).selectOption(options?.[0] ?? '')
    await page.getByLabel('用件').fill('見積書の納期を二週間早めていただきたいです。')
    await page.reload()
    await expect(page.getByLabel('用件')).toHaveValue('見積書の納期を二週間早めていただきたいです。')
    model.script('見積書の納期を二週間早めて', { text: '**件名:** お見積書の納期に関するご相談' })
    await page.getByRole('button', { name: '実行' }).click()
    await chat.finished()
    await expect(chat.questions.last()).toContainText('見積書の納期を二週間早めていただきたいです。')
    await expect(chat.answer).toContainText('件名: お見積書の納期に関するご相談')
    const [asked] = await account.messages(await chat.threadId())
    expect(asked?.content).toContain('株式会社山川商事 佐藤様')
    await chat.ask('もう少し短くしてください。')
    await chat.finished()
    await expect(chat.answers).toHaveCount(2)
  })

  test('without their required services report that', async ({ page, account }) => {
    const skill = await account.skill('ウェブ検索')
    expect(skill.unavailable_reason).toBeTruthy()
    await page.goto('/home/skill')
    // The card shows the first sentence, uncut.
    const [sentence = '-'] = skill.unavailable_reason?.match(/^.+?。/) ?? []
    const note = page.getByText(sentence, { exact: true })
    await expect(note).toBeVisible()
    expect(await note.evaluate((text) => text.scrollHeight - text.clientHeight)).toBe(0)
    await card(page, 'ウェブ検索').click()
    await expect(page.getByRole('heading', { level: 1, name: 'ウェブ検索' })).toBeVisible()
    await expect(page.getByText(skill.unavailable_reason ?? '-')).toBeVisible()
    await expect(page.getByRole('textbox', { name: '質問' })).toHaveCount(0)
  })

  test('suggest questions, which are put into the composer', async ({ chat, page, account }) => {
    const { suggestions } = await account.skill('汎用チャット')
    await chat.open()
    await page.getByRole('button', { name: suggestions[0] ?? '' }).click()
    await expect(chat.composer).toHaveValue(suggestions[0] ?? '')
    await expect(chat.composer).toBeFocused()
    // Another one replaces it, but not what the user has written.
    await page.getByRole('button', { name: suggestions[1] ?? '' }).click()
    await expect(chat.composer).toHaveValue(suggestions[1] ?? '')
    await chat.composer.fill('書きかけの質問')
    await page.getByRole('button', { name: suggestions[0] ?? '' }).click()
    await expect(chat.composer).toHaveValue(`書きかけの質問\n\n${suggestions[0]}`)
  })
})

test.describe('an administrator', () => {
  test.use({ who: 'admin' })

  test('is led to a first cited answer by steps that go away when they are done', async ({
    page,
    account,
    chat,
    model,
    question,
  }) => {
    await account.reset()
    model.script(question, { text: '日当は2,500円です[1]。', tokens_per_second: -1 })
    await openSkills(page)
    const steps = page.getByRole('region', { name: 'はじめに' })
    await expect(steps).toContainText('3件中2件が完了')
    await expect(steps.getByRole('link', { name: /（完了）$/ })).toHaveText([
      /^モデルを接続/,
      /^メンバーを招待/,
    ])
    await steps.getByRole('link', { name: 'スキルを選ぶ' }).click()
    await expect(page.getByRole('heading', { level: 1, name: '文書に質問' })).toBeVisible()
    await page.getByRole('button', { name: 'ファイルや画像を追加' }).click()
    const chooser = page.waitForEvent('filechooser')
    await page.getByRole('button', { name: 'ファイルをアップロード' }).click()
    const buffer = Buffer.from('国内の出張の日当は、1日につき2,500円とする。')
    await (await chooser).setFiles({ name: '旅費規程.txt', mimeType: 'text/plain', buffer })
    await chat.ask(question)
    await chat.finished()
    await expect(chat.answer.getByRole('button', { name: /^出典1、旅費規程\.txt/ }).first()).toBeVisible()
    const id = await chat.threadId()
    await openSkills(page)
    await expect(steps).toHaveCount(0)
    // They do not come back with the next empty list.
    await account.call('DELETE', `/v1/thread/${id}`)
    await openSkills(page)
    await expect(cards(page).first()).toBeVisible()
    await expect(steps).toHaveCount(0)
  })
})
