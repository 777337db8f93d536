import { inspect } from './support/inspect'
import { openSkills } from './support/skills'
import { expect, offline as test } from './support/test'

test.describe('an administrator without a model', () => {
  test.use({ who: 'admin' })

  test('is guided from the skills to the connection of a model', async ({ page, account }) => {
    await account.reset()
    const steps = page.getByRole('region', { name: 'はじめに' })
    await inspect(page, {
      name: 'skills without a model',
      open: async () => {
        await openSkills(page)
        await expect(steps).toContainText('3件中1件が完了')
      },
    })
    await page.reload()
    await steps.getByRole('button', { name: '「はじめに」を閉じる' }).click()
    await page.reload()
    await expect(page.getByRole('region', { name: 'AIモデルが未設定です' })).toBeVisible()
    await expect(steps).toHaveCount(0)
    await expect(page.getByText('管理者にお知らせください')).toHaveCount(0)
    await page.getByRole('link', { name: 'モデルの接続方法' }).click()
    await expect(page.getByRole('heading', { name: 'モデルが接続されていません' })).toBeVisible()
    await page.setViewportSize({ width: 1280, height: 800 })
    await inspect(page, {
      name: '/admin/model without a model',
      open: async () => {
        await page.goto('/admin/model')
        await expect(page.getByText('OPENAI_API_KEY')).toBeVisible()
      },
    })
  })
})

test('a member is asked to contact an administrator', async ({ page }) => {
  await openSkills(page)
  const banner = page.getByRole('region', { name: 'AIモデルが未設定です' })
  await expect(banner).toContainText('管理者にモデルの接続を依頼してください。')
  await expect(banner).toContainText('要約')
})
