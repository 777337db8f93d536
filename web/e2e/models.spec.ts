import { expect } from '@playwright/test'
import { pageOf } from './support/admin'
import { inspect } from './support/inspect'
import { test } from './support/providers'

test.use({ who: 'user' })

test('models are allowed, chosen, named at answers and withdrawn', async ({
  page,
  chat,
  browser,
  server,
  model,
  second,
  signIn,
}) => {
  const menu = page.getByRole('button', { name: /^モデル: / })
  await chat.open()
  await expect(chat.composer).toBeVisible()
  await expect(menu).toHaveCount(0)

  const admin = await pageOf(browser, server.url, await signIn('admin'))
  await admin.goto('/admin/contract')
  await admin.getByRole('link', { name: 'モデル' }).click()
  const line = admin.getByRole('row', { name: /big-model/ })
  await expect(admin.getByRole('radio', { name: '標準を既定にする' })).toBeChecked()
  await expect(line.getByRole('radio')).toBeDisabled()
  await line.getByRole('checkbox').check()
  await line.getByRole('textbox', { name: 'big-modelの表示名' }).fill('高性能')
  await line.getByRole('textbox', { name: 'big-modelの説明' }).fill('難しい相談に')
  await inspect(admin, { name: '/admin/model', open: async () => {} })
  await admin.setViewportSize({ width: 1280, height: 800 })
  await admin.getByRole('button', { name: '保存', exact: true }).click()
  await expect(admin.getByText('モデルの設定を保存しました')).toBeVisible()

  await chat.open()
  await menu.click()
  await page.getByRole('menuitemradio', { name: /高性能/ }).click()
  await page.getByRole('menuitemcheckbox', { name: 'じっくり考える' }).click()
  await page.keyboard.press('Escape')
  await expect(menu).toHaveAccessibleName('モデル: 高性能、じっくり考える')
  await chat.ask('織物の歴史は')
  await chat.finished()
  expect([model.asked('織物の歴史は'), second.asked('織物の歴史は')]).toEqual([0, 1])
  expect(second.request('織物の歴史は')).toMatchObject({ reasoning_effort: 'high' })
  await expect(chat.answer.getByText('回答したモデル: 高性能')).toBeVisible()
  await inspect(page, { name: 'a chat with a choice of models', open: async () => {} })
  await page.setViewportSize({ width: 1280, height: 800 })

  // It is remembered, and an answer can be written again by another one.
  await page.reload()
  await expect(menu).toHaveAccessibleName('モデル: 高性能、じっくり考える')
  await chat.answer.getByRole('button', { name: '回答を再生成' }).click()
  await page.getByRole('menuitem', { name: '「標準」で再生成' }).click()
  await expect(chat.answer.getByText('2/2', { exact: true })).toBeVisible()
  await chat.finished()
  await expect(chat.answer.getByText('回答したモデル: 標準')).toBeVisible()
  expect([model.asked('織物の歴史は'), second.asked('織物の歴史は')]).toEqual([1, 1])

  // A waiting question is sent to the model that was chosen for it.
  const pause = second.pause('絹とは', 0)
  await chat.ask('絹とは')
  await pause.reached
  await chat.composer.fill('麻とは')
  await page.getByRole('button', { name: '回答が終わりしだい送信' }).click()
  await menu.click()
  await page.getByRole('menuitemradio', { name: /標準/ }).click()
  await page.keyboard.press('Escape')
  pause.release()
  await expect(chat.questions.last()).toContainText('麻とは')
  await chat.finished()
  expect([model.asked('麻とは'), second.asked('麻とは')]).toEqual([0, 1])
  await menu.click()
  await page.getByRole('menuitemradio', { name: /高性能/ }).click()
  await page.keyboard.press('Escape')

  await admin
    .getByRole('row', { name: /big-model/ })
    .getByRole('checkbox')
    .uncheck()
  await admin.getByRole('button', { name: '保存', exact: true }).click()
  await expect(admin.getByText('保存していない変更があります')).toBeHidden()
  // The screen does not know yet: it shows the error and keeps the question.
  await chat.composer.fill('木綿とは')
  await chat.composer.press('Enter')
  await expect(page.getByText('選択していたモデルは利用できなくなりました')).toBeVisible()
  await expect(chat.composer).toHaveValue('木綿とは')
  await expect(menu).toHaveCount(0)
  await chat.composer.press('Enter')
  await expect(chat.composer).toHaveValue('')
  await chat.finished()
  expect([model.asked('木綿とは'), second.asked('木綿とは')]).toEqual([1, 0])
})

test('a skill names the model that answers its questions', async ({ page, chat, server, second, signIn }) => {
  const admin = await signIn('admin')
  const allowed = ['standard', 'strong'].map((id) => ({ id, allowed: true, name: '', note: '' }))
  await admin.call('PUT', '/v1/organization/model', { default_id: 'standard', models: allowed })
  await page.goto(`${server.url}/home/skill/new`)
  await page.getByRole('textbox', { name: '名前', exact: true }).fill('契約書の相談')
  await page.getByRole('textbox', { name: '説明' }).fill('契約書を確かめます。')
  await page.getByRole('textbox', { name: 'プロンプト' }).fill('契約書を確かめる。')
  await page.getByText('詳細設定').click()
  await expect(page.getByLabel('モデル').locator('option:checked')).toHaveText('既定（標準）')
  await page.getByLabel('モデル').selectOption('big-model')
  await page.getByRole('button', { name: '保存', exact: true }).click()
  await expect(page).toHaveURL(/\/edit$/)
  await chat.open('契約書の相談')
  await expect(page.getByRole('button', { name: 'モデル: big-model' })).toBeVisible()
  await chat.ask('解約の条項は')
  await chat.finished()
  expect(second.asked('解約の条項は')).toBe(1)
})
