import { expect } from '@playwright/test'
import { open, test } from './support/admin'
import { inspect } from './support/inspect'

test.use({ who: 'admin' })

test('a super-admin sees the state of the services, and what to do', async ({ page }) => {
  await open(page, '/admin/contract', '契約')
  await page.getByRole('link', { name: '稼働状況' }).click()
  const service = (name: string) => page.getByRole('listitem').filter({ hasText: name })
  await expect(service('ファイルの保存')).toContainText('正常')
  await expect(service('シングルサインオンの証明書')).toContainText('未設定')
  await page.route('**/v1/organization/state', (route) =>
    route.fulfill({
      json: {
        items: [
          { id: 'model', state: 'warning' },
          { id: 'mail', state: 'failure' },
          { id: 'slack', state: 'failure' },
        ],
      },
    }),
  )
  await page.getByRole('button', { name: '再確認' }).click()
  await expect(service('回答のモデル')).toContainText('注意')
  await expect(service('メールの送信')).toContainText('サーバーの運用担当者に連絡し')
  await inspect(page, { name: '/admin/state', open: (at) => open(at, '/admin/state', '稼働状況') })
  await service('接続できないか').getByRole('link', { name: 'Slackの設定' }).click()
  await page.waitForURL('**/admin/slack')
})

test('other administrators have no page of the state', async ({ page }) => {
  await page.route('**/v1/me', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ json: { ...(await response.json()), role: 'organization-admin' } })
  })
  await open(page, '/admin/contract', '契約')
  await expect(page.getByRole('link', { name: '監査ログ' })).toBeVisible()
  await expect(page.getByRole('link', { name: '稼働状況' })).toHaveCount(0)
})
