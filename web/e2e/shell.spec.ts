import type { Locator, Page } from '@playwright/test'
import { plainSkill } from './support/chat'
import { pages, visit } from './support/pages'
import { cards, openSkills } from './support/skills'
import { expect, test } from './support/test'

const wide = { width: 1440, height: 900 }
const narrow = { width: 390, height: 844 }

/** The box of an element, in px. */
async function box(element: Locator): Promise<{ x: number; y: number; width: number; height: number }> {
  const found = await element.boundingBox()
  if (found === null) throw new Error(`not shown: ${element}`)
  return found
}

/** The positions of the parts of the shell on the page that is open, by name. */
async function parts(page: Page): Promise<Record<string, unknown>> {
  const header = page.getByRole('banner')
  const links = page.getByRole('navigation', { name: 'メニュー', exact: true }).getByRole('link')
  const list = page.getByRole('navigation', { name: 'チャット' })
  const all: Record<string, Locator> = {
    header,
    main: page.getByRole('main'),
    logo: header.getByRole('link', { name: 'Tsumugi スキル一覧' }),
    favorites: header.getByRole('button', { name: 'お気に入り' }),
    search: header.getByRole('button', { name: '検索', exact: true }),
    bell: header.getByRole('button', { name: /^お知らせ/ }),
    menu: header.getByRole('button', { name: /さんのメニュー$/ }),
    ...(page.viewportSize()?.width === narrow.width
      ? {
          sheet: header.getByRole('button', { name: 'チャット一覧を開く' }),
          newChat: header.getByRole('link', { name: '新しいチャット' }),
        }
      : {
          fold: header.getByRole('button', { name: 'チャット一覧' }),
          help: header.getByRole('link', { name: /^ヘルプ/ }),
          newChat: links.nth(0),
          skills: links.nth(1),
          files: links.nth(2),
          find: page.getByRole('textbox', { name: 'チャットを検索' }),
          group: list.getByRole('heading', { name: '今日' }),
          icon: list.getByRole('listitem').first().locator('img'),
          thread: list.getByRole('link').first(),
          last: list.getByRole('link').last(),
        }),
  }
  const boxes = Object.entries(all).map(async ([name, element]) => [name, await box(element)] as const)
  return Object.fromEntries(await Promise.all(boxes))
}

test.describe('the shell', () => {
  test.use({ who: 'admin', viewport: wide })

  test('is the same on every page, and its rows stay while an answer runs', async ({
    page,
    chat,
    account,
    model,
    question,
  }) => {
    await account.reset()
    const other = await account.newThread('翻訳', '英訳の依頼')
    const thread = await account.newThread(plainSkill, '社内研修の案')
    const { id: leaf } = await account.ask(thread.id, 'こんにちは')
    const share = await account.call('PUT', `/v1/thread/${thread.id}/share`, { leaf })
    const { id: shareId } = (await share.json()) as { id: string }

    const chatPath = `/home/skill/${thread.skill.id}/chat/${thread.id}`
    const body = { request_id: crypto.randomUUID(), name: '新製品の準備' }
    const project = await account.call('POST', '/v1/project', body)
    const { id: projectId } = (await project.json()) as { id: string }
    // The other pages are opened by links.
    const loaded = [
      '/home/skill',
      `/home/skill/${thread.skill.id}`,
      `/home/skill/${other.skill.id}/chat/${other.id}`,
      chatPath,
      `/share/${shareId}`,
      '/home/data-source',
      '/setting/about',
      '/admin/contract',
      ...['chat', 'file', 'member', 'instructions', 'setting'].map(
        (tab) => `/home/project/${projectId}/${tab}`,
      ),
    ]
    let first: Record<'wide' | 'narrow', unknown> | undefined
    for (const path of new Set([...loaded, ...pages])) {
      await page.setViewportSize(wide)
      if (loaded.includes(path)) await page.goto(path)
      else await visit(page, path)
      await expect(page.getByRole('heading', { level: 1 }).first()).toBeVisible()
      const list = page.getByRole('navigation', { name: 'チャット' })
      await expect(list.getByRole('link', { name: '社内研修の案' })).toBeVisible()
      await expect(page.locator('a[href="/home/data-source"]')).toHaveText(['ファイル'])
      const inWide = await parts(page)
      await page.setViewportSize(narrow)
      await expect(page.getByRole('button', { name: 'チャット一覧を開く' })).toBeVisible()
      const seen = { wide: inWide, narrow: await parts(page) }
      first ??= seen
      expect({ path, ...seen }).toEqual({ path, ...first })
    }

    await page.setViewportSize(wide)
    model.script(question, { text: '回答です。' })
    const middle = model.pause(question, 1)
    await page.goto(chatPath)
    await chat.ask(question)
    await middle.reached
    await expect(page.getByText('回答を作成しています').first()).toBeAttached()
    expect(await parts(page)).toEqual(first?.wide)
    middle.release()
    await chat.finished()
    expect(await parts(page)).toEqual(first?.wide)

    await page.getByRole('button', { name: '最近のプロジェクト' }).click()
    await expect(page.getByRole('link', { name: '新製品の準備' })).toBeVisible()

    // A new chat has the skill of the page, and from a page without a skill begins at home.
    const menu = page.getByRole('navigation', { name: 'メニュー', exact: true })
    await menu.getByRole('link', { name: '新しいチャット' }).click()
    await expect(page).toHaveURL(new RegExp(`/home/skill/${thread.skill.id}$`))
    await menu.getByRole('link', { name: 'ファイル' }).click()
    await expect(page.getByRole('heading', { level: 1, name: 'ファイル' })).toBeVisible()
    await menu.getByRole('link', { name: '新しいチャット' }).click()
    await expect(page).toHaveURL(/\/home\/skill$/)
    await expect(chat.composer).toBeFocused()
  })

  test('shows nine cards of skills at home, four on a phone, with one right edge', async ({
    page,
    chat,
    account,
  }) => {
    await account.reset()
    await account.newThread('翻訳')
    await account.newThread('壁打ち')
    await account.readNotices()
    await openSkills(page)
    const names = await cards(page).allTextContents()
    expect(names.slice(0, 2)).toEqual(['壁打ち', '翻訳'])
    expect(names.toSorted()).toEqual((await account.skills()).map(({ name }) => name).toSorted())

    const items = page.getByRole('main').getByRole('listitem')
    const create = page.getByRole('link', { name: 'スキルを作成' })
    for (const [size, visible, columns] of [
      [wide, 9, 3],
      [{ width: 1600, height: 900 }, 12, 4],
      [narrow, 4, 1],
    ] as const) {
      await page.setViewportSize(size)
      const boxes = await Promise.all((await items.all()).map(box))
      const inside = boxes.filter(({ y, height }) => y + height <= size.height)
      expect(inside.length).toBeGreaterThanOrEqual(visible)
      expect(boxes.filter(({ y }) => y === boxes[0]?.y)).toHaveLength(columns)
      // The row above the cards has the edges of the cards, and the composer is centred over them.
      const right = Math.max(...boxes.map(({ x, width }) => x + width))
      const [link, search, form, question, send] = [
        await box(create),
        await box(page.getByRole('textbox', { name: 'スキルを検索' })),
        await box(page.getByRole('main').locator('form')),
        await box(chat.composer),
        await box(chat.send),
      ]
      expect(link.x + link.width).toBe(right)
      expect(search.x).toBe(boxes[0]?.x)
      expect(form.x - search.x).toBeCloseTo(right - form.x - form.width, 0)
      expect(Math.abs(link.y + link.height / 2 - search.y - search.height / 2)).toBeLessThan(1)
      // The text has the full width of the composer, above the buttons.
      expect(form.width - question.width).toBeLessThan(24)
      expect(send.y).toBeGreaterThanOrEqual(question.y + question.height)
    }
  })
})
