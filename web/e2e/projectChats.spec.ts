import type { Page } from '@playwright/test'
import { Account } from './support/account'
import { open, organization } from './support/admin'
import { breaches } from './support/inspect'
import { create, type Project, share } from './support/projects'
import { expect, test } from './support/test'

const main = (page: Page) => page.getByRole('main')

test('three members ask in a shared chat in turn; one is removed while an answer is written', async ({
  page,
  account,
  chat,
  model,
  question,
  pageAs,
  signIn,
  server,
}, info) => {
  const project = await create(account, `共同-${info.testId}`)
  const email = `third-${crypto.randomUUID()}@demo.example` as const
  await server.addMember(organization, email, 'general-user')
  const two = { 'user@demo.example': 'manager', 'admin@demo.example': 'viewer' }
  await share(account, project, { ...two, [email]: 'viewer' })
  const current = async () =>
    (await (await account.call('GET', `/v1/project/${project.id}`)).json()) as Project
  const leaver = await pageAs(await Account.signIn(server.url, email))
  const colleague = await pageAs(await signIn('admin'))
  const theirs = chat.in(colleague)
  model.script(question, { text: '最初の回答です。' })
  await open(page, `/home/project/${project.id}`, project.name)
  await main(page).getByRole('button', { name: '共有チャットを始める' }).click()
  await expect(page.getByText(`プロジェクト「${project.name}」で新しいチャットを始めます。`)).toBeVisible()
  expect(await breaches(page)).toEqual([])
  await chat.ask(question)
  await chat.finished()
  const thread = await chat.threadId()
  await expect(main(page).getByRole('link', { name: new RegExp(project.name) })).toBeVisible()

  await open(colleague, `/home/project/${project.id}`, project.name)
  await main(colleague).getByRole('list', { name: 'プロジェクトのチャット' }).getByRole('link').click()
  await colleague.waitForURL(`**/chat/${thread}`)
  await expect(theirs.turns.first()).toContainText('さんの質問')
  await expect(theirs.answer).toContainText('最初の回答です。')

  await leaver.goto(colleague.url())
  const lost = chat.in(leaver)
  await expect(lost.answer).toContainText('最初の回答です。')

  // A question of the colleague, which the others watch; the next two questions wait for its answer.
  const second = `${question} 二つ目`
  const third = `${question} 三つ目`
  model.script(second, { chars: 400, seed: 3 })
  const middle = model.pause(second, 60)
  model.script(third, { text: '三つ目の回答です。' })
  await theirs.ask(second)
  await expect(chat.turns.filter({ hasText: second })).toContainText('さんの質問')
  await expect(chat.answer).toHaveAttribute('aria-busy', 'true')
  await chat.composer.fill(third)
  await chat.composer.press('Enter')
  const waiting = (of: Page) => of.getByRole('region', { name: '順番を待っている質問' })
  await expect(waiting(page)).toContainText(third)
  await expect(waiting(colleague)).toContainText(third)
  await lost.composer.fill(`${question} 四つ目`)
  await lost.composer.press('Enter')
  await expect(waiting(page).getByRole('listitem')).toHaveCount(2)
  for (const of of [page, colleague, leaver])
    await expect(of.getByText('別の分岐で回答を作成中です。')).toHaveCount(0)

  // One of the three loses the role while the answer is written. The others receive the rest.
  await middle.reached
  await expect(lost.answer).toHaveAttribute('aria-busy', 'true')
  await share(account, await current(), two)
  await expect(lost.turns).toHaveCount(0)
  await expect(waiting(leaver)).toHaveCount(0)
  middle.release()
  expect(await breaches(colleague)).toEqual([])
  await expect(chat.answer).toContainText('三つ目の回答です。')
  await expect(theirs.answer).toContainText('三つ目の回答です。')
  await expect(waiting(colleague)).toHaveCount(0)
  await expect(theirs.turns).toHaveCount(6)
  expect(model.asked('四つ目')).toBe(0)

  // The end of the colleague's role ends their view of the chat, too.
  await share(account, await current(), { 'user@demo.example': 'manager' })
  await expect(theirs.turns).toHaveCount(0)
})

test('a chat is moved into a project, after showing who will read it, and out of it', async ({
  page,
  account,
  chat,
  model,
  question,
}, info) => {
  const project = await create(account, `移動-${info.testId}`)
  model.script(question, { text: 'はい。' })
  await chat.open()
  await chat.ask(question)
  await chat.finished()
  const menu = page.getByRole('banner').or(main(page)).getByRole('button', { name: 'チャットのメニュー' })
  await menu.first().click()
  await page.getByRole('menuitem', { name: 'プロジェクト' }).click()
  const moving = page.getByRole('dialog')
  await moving.getByRole('textbox', { name: 'プロジェクト名で検索' }).fill(project.name)
  await moving.getByRole('checkbox', { name: project.name }).check()
  await moving.getByRole('radio', { name: 'プロジェクトのメンバー' }).check()
  await expect(moving.getByText(/^1人のメンバーが、これまでの質問1件/)).toBeVisible()
  expect(await breaches(page)).toEqual([])
  await moving.getByRole('button', { name: '保存する' }).click()
  await expect(main(page).getByRole('link', { name: new RegExp(project.name) })).toBeVisible()
  await page.reload()
  await expect(main(page).getByRole('link', { name: new RegExp(project.name) })).toBeVisible()
})
