import { Slack, test } from './support/slack'
import { expect } from './support/test'

test.describe.configure({ mode: 'serial' })
test.use({ who: 'admin' })

test('a super-admin connects a workspace with the values from the page', async ({ page, slack, server }) => {
  await page.goto('/admin/slack')
  await expect(page.getByText('接続していません')).toBeVisible()
  // Slack cannot send events to the address of the test's server, which begins with http://.
  const note = page.getByText(
    'このサーバーの公開URLは「http://」で始まるため、Slackはイベントを送信できません。',
  )
  const manifest = page.getByRole('region', { name: 'マニフェスト' })
  const socketMode = page.getByRole('checkbox', { name: 'Socket Modeを使う' })
  await expect(note).toBeVisible()
  await expect(socketMode).toBeChecked()
  await expect(manifest).toContainText('"socket_mode_enabled": true')
  await socketMode.uncheck()
  await expect(manifest).toContainText(`${server.url}/external/slack/v1/event`)
  await expect(page.getByRole('button', { name: 'Slackに追加' })).toBeDisabled()
  await page.getByRole('button', { name: '登録する' }).click()
  await expect(page.getByText('登録する値を入力してください。')).toBeVisible()
  await page.getByLabel('Client ID').fill(Slack.app.clientId)
  await page.getByLabel('Client Secret').fill(Slack.app.clientSecret)
  await page.getByLabel('Signing Secret').fill(Slack.app.signingSecret)
  await page.getByRole('button', { name: '登録する' }).click()
  await expect(page.getByText('登録しました。')).toBeVisible()
  await expect(page.getByLabel('Client Secret')).toHaveValue('')

  await test.step('what Slack refuses is said', async () => {
    await page.getByRole('button', { name: 'Slackに追加' }).click()
    await slack.answer(page, Slack.hanako.id, false)
    await expect(page.getByText('Slackで許可されなかったため、接続しませんでした。')).toBeVisible()
    await page.getByLabel('Bot User OAuth Token').fill('xoxb-wrong')
    await page.getByRole('button', { name: '登録する' }).click()
    await expect(page.getByText(/受け付けられません/)).toBeVisible()
  })

  await page.getByRole('button', { name: 'Slackに追加' }).click()
  await slack.answer(page, Slack.hanako.id)
  await page.waitForURL('**/admin/slack?result=installed')
  await expect(page.getByText('接続しています')).toBeVisible()
  await expect(page.getByText(`ワークスペース「${Slack.team}」`)).toBeVisible()
  await page.getByRole('button', { name: '接続を確認' }).click()
  const result = page.getByRole('status', { name: '確認の結果' })
  await expect(result).toContainText('必要な権限がそろっています。')
  await expect(note).toBeVisible()
  await expect(result.getByText('公開URL', { exact: true })).toBeVisible()
  await expect(result).toContainText('公開URLがhttp://のため、Slackからイベントを受け取れません。')
  await expect(page.getByText('要確認')).toHaveCount(1)
})

test('a user links themselves in one browser, and a forwarded link is refused', async ({
  page,
  slack,
  server,
  browser,
  signIn,
}) => {
  await slack.say(Slack.hanako.id, '@Tsumugi 糸とは何ですか')
  const address = await slack.invitation(Slack.hanako.id)

  await test.step('a colleague opens it', async () => {
    const colleague = await signIn('user')
    const origins = Object.entries(colleague.storage).map(([name, value]) => ({ name, value }))
    const context = await browser.newContext({
      storageState: { cookies: [], origins: [{ origin: server.url, localStorage: origins }] },
    })
    const elsewhere = await context.newPage()
    await elsewhere.goto(address)
    await expect(elsewhere.getByText(`ご自分が「${Slack.hanako.name}」でない場合は`)).toBeVisible()
    await elsewhere.getByRole('button', { name: 'Slackと連携する' }).click()
    await slack.answer(elsewhere, Slack.taro.id)
    await expect(elsewhere.getByRole('alert')).toContainText('違うため、連携しませんでした。')
    await context.close()
  })

  await page.goto(address)
  await page.getByRole('button', { name: 'Slackと連携する' }).click()
  await slack.answer(page, Slack.hanako.id)
  await page.waitForURL('**/setting/slack?result=linked')
  await expect(page.getByText('Slackと連携しました。')).toBeVisible()
  await expect(page.getByText(`${Slack.hanako.name}・${Slack.team}`)).toBeVisible()

  await test.step('the question is answered', async () => {
    await slack.say(Slack.hanako.id, '@Tsumugi 絹糸とは何ですか')
    await expect
      .poll(async () =>
        (await slack.messages()).some((m) => m.BotID !== '' && m.For === '' && m.Markdown !== ''),
      )
      .toBe(true)
  })

  await test.step('a channel is bound to a project, and unbound in its settings', async () => {
    const admin = await signIn('admin')
    const body = { request_id: crypto.randomUUID(), name: '春の新商品' }
    const { id } = (await (await admin.call('POST', '/v1/project', body)).json()) as { id: string }
    const titles = async () => {
      const found = await admin.call('GET', `/v1/thread?project_id=${id}`)
      return ((await found.json()) as { items: { title: string }[] }).items.map(({ title }) => title)
    }
    await page.goto(`/home/project/${id}/setting`)
    const channels = page.getByRole('region', { name: 'Slackのチャンネル' })
    await expect(channels).toContainText('/tsumugi project 春の新商品')
    await expect(channels).toContainText('連携しているチャンネルはありません。')
    await slack.command(Slack.hanako.id, 'project 春の新商品', 'このチャンネルの全員が読めます')
    await expect(channels.getByRole('listitem')).toContainText('general')
    await slack.say(Slack.hanako.id, '@Tsumugi 発売日はいつですか')
    await expect.poll(titles).toContain('発売日はいつですか')
    await channels.getByRole('button', { name: /「general」の\s*連携を解除/ }).click()
    await page.getByRole('dialog').getByRole('button', { name: '解除する' }).click()
    await expect(channels).toContainText('連携しているチャンネルはありません。')
    await slack.command(Slack.hanako.id, 'project', 'プロジェクトと連携していません')
  })

  await test.step('administrators see the link, and end everything', async () => {
    await page.goto('/admin/slack')
    await expect(page.getByRole('table', { name: '連携しているメンバー' })).toContainText(Slack.hanako.name)
    await page.getByRole('button', { name: '接続を解除' }).click()
    await page.getByRole('dialog').getByRole('button', { name: '接続を解除' }).click()
    await expect(page.getByText('接続していません')).toBeVisible()
    await page.goto('/setting/slack')
    await expect(page.getByText('この組織は、まだSlackと接続していません。')).toBeVisible()
  })
})
