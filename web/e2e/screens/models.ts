import { test } from '../support/providers'
import { expect } from '../support/test'
import * as sample from './sample'
import { at, shoot, sizes } from './shoot'

test.use({ who: 'admin' })

test('models and pictures', async ({ page, chat, account, second }) => {
  await account.call('PUT', '/v1/organization/model', {
    default_id: 'standard',
    models: [
      { id: 'standard', allowed: true, name: '', note: '普段の質問に' },
      { id: 'strong', allowed: true, name: '高性能', note: '難しい相談や画像に' },
    ],
  })
  await shoot(page, { name: 'admin-model', open: at('/admin/model', 'モデル') })
  await page.setViewportSize(sizes.wide)
  await page.emulateMedia({ colorScheme: 'light' })
  await at('/admin/contract', '契約')(page)
  const buffer = await page.screenshot()
  second.script(sample.pictureQuestion, { text: sample.pictureAnswer, title: '契約の画面の説明' })
  await chat.open()
  const menu = page.getByRole('button', { name: /^モデル：/ })
  await menu.click()
  await page.getByRole('menuitemradio', { name: /高性能/ }).click()
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: 'ファイルや画像を追加' }).click()
  const chooser = page.waitForEvent('filechooser')
  await page.getByRole('dialog').getByRole('button', { name: '画像を追加' }).click()
  await (await chooser).setFiles({ name: '契約の画面.png', mimeType: 'image/png', buffer })
  await expect(page.getByRole('button', { name: '画像1を拡大' })).toBeVisible()
  await chat.ask(sample.pictureQuestion)
  await chat.finished()
  await shoot(page, {
    name: 'chat-picture',
    open: async () => {
      await expect(page.getByText('回答したモデル：高性能')).toBeVisible()
      await page.keyboard.press('Escape')
      await menu.click()
      await expect(page.getByRole('menuitemradio', { name: /標準/ })).toBeVisible()
    },
  })
})

test('skills of people', async ({ page }) => {
  await shoot(page, {
    name: 'skill-editor',
    open: async () => {
      await at('/home/skill/new', 'スキルの作成')(page)
      await page.getByRole('textbox', { name: '名前', exact: true }).fill(sample.ownSkill.name)
      await page.getByRole('textbox', { name: '説明' }).fill(sample.ownSkill.description)
      await page.getByRole('textbox', { name: 'プロンプト' }).fill(sample.ownSkill.prompt)
    },
  })
  await shoot(page, { name: 'skill-library', open: at('/home/skill/library', 'スキルの管理') })
})

test('the state of services', async ({ page }) => {
  const states = {
    model: 'ok',
    embedding: 'warning',
    'web-search': 'ok',
    files: 'ok',
    mail: 'failure',
    slack: 'ok',
  }
  await page.route('**/v1/organization/state', (route) =>
    route.fulfill({ json: { items: Object.entries(states).map(([id, state]) => ({ id, state })) } }),
  )
  await shoot(page, { name: 'admin-state', open: at('/admin/state', '稼働状況') })
})

test('retention', async ({ page, account }) => {
  const threads: Awaited<ReturnType<typeof account.newThread>>[] = []
  for (const [skill, title] of sample.threads.slice(0, 4)) threads.push(await account.newThread(skill, title))
  await account.call('PUT', '/v1/retention', { days: 365 })
  await shoot(page, { name: 'admin-retention', open: at('/admin/retention', 'チャットの保存期間') })
  // The list of threads that will be deleted is faked: it needs weeks to pass.
  const first_at = '2026-12-07T03:00:00Z'
  await page.route('**/v1/retention', (route) =>
    route.fulfill({ json: { days: 365, leaving: { threads: threads.length, first_at } } }),
  )
  await page.route('**/v1/retention/thread?*', (route) =>
    route.fulfill({ json: { items: threads.map((thread) => ({ thread, deletes_at: first_at })) } }),
  )
  await shoot(page, {
    name: 'threads-leaving',
    open: at('/home/skill/leaving', 'まもなく削除されるチャット'),
  })
})
