import { Slack, test } from '../support/slack'
import { expect } from '../support/test'
import { shoot } from './shoot'

test.use({ who: 'admin' })

test('Slack, before and after it is connected', async ({ page, account, slack }) => {
  const administration = async () => {
    await page.goto('/admin/slack')
    await expect(page.getByRole('region', { name: 'マニフェスト' })).toBeVisible()
  }
  await shoot(page, { name: 'admin-slack-setup', open: administration })
  await account.call('PUT', '/v1/slack-config', {
    client_id: Slack.app.clientId,
    client_secret: Slack.app.clientSecret,
    signing_secret: Slack.app.signingSecret,
    bot_token: Slack.app.botToken,
    policy: { auto_link: false, shared_channels: false, channels: [] },
  })
  await slack.say(Slack.hanako.id, '@Tsumugi 糸とは何ですか')
  const address = await slack.invitation(Slack.hanako.id)
  const asked = async () => {
    await page.goto(address)
    await expect(page.getByRole('button', { name: 'Slackと連携する' })).toBeVisible()
  }
  await shoot(page, { name: 'setting-slack', open: asked })
  await page.getByRole('button', { name: 'Slackと連携する' }).click()
  await slack.answer(page, Slack.hanako.id)
  await page.waitForURL('**/setting/slack?result=linked')
  await shoot(page, {
    name: 'setting-slack-linked',
    open: () => expect(page.getByText('連携しています')).toBeVisible(),
  })
  await shoot(page, {
    name: 'admin-slack',
    open: async () => {
      await administration()
      await page.getByRole('button', { name: '接続を確認' }).click()
      await expect(page.getByRole('status', { name: '確認の結果' })).toBeVisible()
    },
  })
})
