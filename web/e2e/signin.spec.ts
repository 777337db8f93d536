import type { Route } from '@playwright/test'
import { emails } from './support/account'
import { inspect } from './support/inspect'
import { enter, readToken } from './support/people'
import { openSkills } from './support/skills'
import { expect, test } from './support/test'
import { password } from './support/tsumugi'

/** Responds like the server when it refuses a token. */
function refuse(route: Route, detail: string): Promise<void> {
  const problem = { type: 'about:blank', title: 'Unauthorized', status: 401, detail, code: 'unauthenticated' }
  return route.fulfill({ status: 401, contentType: 'application/problem+json', json: problem })
}

test.describe('signing in', () => {
  test.use({ who: null })

  test('begins on a landing page that shows an answer being written, without moving anything', async ({
    page,
  }) => {
    await page.emulateMedia({ reducedMotion: 'no-preference' })
    await page.addInitScript(() => {
      const seen = { shift: 0, lengths: new Set<number>() }
      Object.assign(window, { seen })
      new PerformanceObserver((list) => {
        for (const entry of list.getEntries()) seen.shift += (entry as unknown as { value: number }).value
      }).observe({ type: 'layout-shift', buffered: true })
      new MutationObserver(() => {
        const answer = document.querySelector('[data-written] ol > li:last-child')
        if (answer) seen.lengths.add(answer.textContent.length)
      }).observe(document, { subtree: true, childList: true, characterData: true })
    })
    await page.goto('/')
    const answer = page.locator('[data-written]').getByRole('listitem').filter({ hasText: '回答' })
    await expect(answer.getByText('出張旅費規程.pdf')).toBeVisible()
    await expect(answer.getByRole('row')).toHaveCount(3)
    await answer
      .getByRole('button', { name: /^出典1、出張旅費規程/ })
      .first()
      .hover()
    await expect(page.getByRole('tooltip')).toContainText('第8条')
    const { shift, steps, api, script } = await page.evaluate(() => {
      const { seen } = window as unknown as { seen: { shift: number; lengths: Set<number> } }
      const resources = performance.getEntriesByType('resource') as PerformanceResourceTiming[]
      // The renderer is loaded after the first load, and is not a part of it.
      const renderer = resources.find(({ name }) => name.includes('/SampleChat-'))?.startTime ?? 0
      const scripts = resources.filter(({ name, startTime }) => name.endsWith('.js') && startTime < renderer)
      return {
        shift: seen.shift,
        steps: seen.lengths.size,
        api: resources.map(({ name }) => new URL(name).pathname).filter((path) => path.startsWith('/v1/')),
        script: scripts.reduce((sum, { encodedBodySize }) => sum + encodedBodySize, 0),
      }
    })
    expect(steps).toBeGreaterThan(10)
    expect(shift).toBeLessThan(0.01)
    expect(api).toEqual([])
    expect(script).toBeGreaterThan(50_000)
    expect(script).toBeLessThan(300_000)

    await page.emulateMedia({ reducedMotion: 'reduce' })
    await page.reload()
    await expect(answer.getByText('出張旅費規程.pdf')).toBeVisible()
    const lengths = () => (window as unknown as { seen: { lengths: Set<number> } }).seen.lengths.size
    expect(await page.evaluate(lengths)).toBeLessThan(4)

    await page.getByRole('button', { name: '使い方を見る' }).click()
    await expect(page.getByRole('heading', { name: '用件から、整ったメールに' })).toBeInViewport()
  })

  test('has help for people without an invitation', async ({ page }) => {
    await inspect(page, {
      name: 'the sign-in with help',
      open: async () => {
        await page.goto('/login')
        await page.getByText('招待を受けていない方・ログインできない方').click()
        await expect(page.getByText('組織の管理者からの招待が必要です。')).toBeVisible()
      },
    })
    await inspect(page, {
      name: 'the landing page',
      open: async () => {
        await page.goto('/')
        await expect(page.getByText('出張旅費規程.pdf')).toBeVisible()
      },
    })
  })

  test('leads from the landing page to the skills and keeps the token record', async ({ page }) => {
    await page.goto('/')
    await page.getByRole('link', { name: 'ログイン' }).first().click()
    await enter(page, emails.user, 'Wrong-Password-1')
    await expect(page.getByText('メールアドレスまたはパスワードが正しくありません。')).toBeVisible()
    await expect(page.getByLabel('パスワード', { exact: true })).toBeFocused()
    expect(await readToken(page)).toBeNull()

    await page.getByLabel('パスワード', { exact: true }).fill(password)
    await page.keyboard.press('Enter')
    await page.waitForURL('**/home/skill')
    await expect(page.getByRole('heading', { level: 1 })).toContainText('山田 太郎さん')
    const record = await readToken(page)
    expect(Object.keys(record ?? {}).sort()).toEqual(
      ['accessToken', 'authType', 'clientId', 'expiresIn', 'idToken', 'refreshToken', 'tokenType'].sort(),
    )
    expect(record).toMatchObject({ authType: 'cognito', expiresIn: 3600, tokenType: 'Bearer' })
    expect(record?.idToken?.split('.')).toHaveLength(3)
  })

  test('shows the same for an unknown address, and leads back to another one', async ({ page }) => {
    await page.goto('/login')
    await enter(page, 'nobody@demo.example', password)
    await expect(page.getByText('メールアドレスまたはパスワードが正しくありません。')).toBeVisible()
    await page.getByRole('button', { name: '別のメールアドレスを使う' }).click()
    await expect(page.getByLabel('メールアドレス')).toHaveValue('nobody@demo.example')
  })

  test('is required on every page of /home, and returns to it', async ({ page, account }) => {
    const { id } = await account.skill('要約')
    await page.goto(`/home/skill/${id}`)
    await page.waitForURL('**/login')
    await enter(page, emails.user, password)
    await page.waitForURL(`**/home/skill/${id}`)
    await expect(page.getByRole('heading', { level: 1, name: '要約' })).toBeVisible()
  })

  test('R75: signing out in one tab signs out all, and revokes the refresh token', async ({
    page,
    context,
    server,
  }) => {
    await page.goto('/login')
    await enter(page, emails.admin, password)
    await page.waitForURL('**/home/skill')
    const other = await context.newPage()
    await other.goto('/home/skill')
    await expect(other.getByRole('heading', { level: 1 })).toContainText('管理 花子さん')
    const record = await readToken(page)

    await page.getByRole('button', { name: '管理 花子さんのメニュー' }).click()
    await page.getByRole('menuitem', { name: 'ログアウト' }).click()
    await page.waitForURL('**/logout/success')
    await other.waitForURL('**/login')
    expect(await readToken(page)).toBeNull()

    const refreshed = await fetch(`${server.url}/pool/`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/x-amz-json-1.1',
        'X-Amz-Target': 'AWSCognitoIdentityProviderService.InitiateAuth',
      },
      body: JSON.stringify({
        AuthFlow: 'REFRESH_TOKEN_AUTH',
        ClientId: record?.clientId,
        AuthParameters: { REFRESH_TOKEN: record?.refreshToken },
      }),
    })
    expect(refreshed.status).toBe(400)
    expect(await refreshed.json()).toMatchObject({ __type: 'NotAuthorizedException' })
  })
})

test.describe('a session', () => {
  const lists = /\/v1\/(skill|category|notification|thread)\?/

  test('is renewed once for all calls with the expired token, and each is retried once', async ({
    page,
    account,
  }) => {
    const refused: string[] = []
    const retried: string[] = []
    const { idToken } = JSON.parse(account.storage.tsumugiToken ?? '{}') as { idToken: string }
    await page.route(lists, async (route) => {
      const { pathname } = new URL(route.request().url())
      const headers = route.request().headers()
      if (headers.authorization === `Bearer ${idToken}`) {
        refused.push(pathname)
        return refuse(route, 'jwt expired')
      }
      // Later calls use the new token at once.
      if (headers['x-no-retry'] !== undefined) retried.push(pathname)
      return route.continue()
    })
    const renewals: string[] = []
    page.on('request', (request) => {
      if (request.headers()['x-amz-target']?.endsWith('.InitiateAuth'))
        renewals.push(request.postData() ?? '')
    })
    await openSkills(page)
    expect(refused.length).toBeGreaterThanOrEqual(3)
    // A list that is reloaded meanwhile cancels the refused call.
    const different = (paths: readonly string[]) => [...new Set(paths)].toSorted()
    await expect.poll(() => different(retried)).toEqual(different(refused))
    expect(retried.length).toBeLessThanOrEqual(refused.length)
    expect(renewals).toHaveLength(1)
    expect(JSON.parse(renewals[0] ?? '{}')).toMatchObject({ AuthFlow: 'REFRESH_TOKEN_AUTH' })
    expect((await readToken(page))?.idToken).not.toBe(idToken)
  })

  test('ends at /login if it cannot be renewed', async ({ page }) => {
    await openSkills(page)
    await page.evaluate(() => {
      const record = JSON.parse(localStorage.getItem('tsumugiToken') ?? '{}') as Record<string, string>
      const [head, body] = String(record.idToken).split('.')
      const forged = { ...record, idToken: `${head}.${body}.forged`, refreshToken: 'worthless' }
      localStorage.setItem('tsumugiToken', JSON.stringify(forged))
    })
    await page.route(lists, (route) => refuse(route, 'jwt expired'))
    await page.evaluate(() => location.reload()) // The app goes to another page before this one is loaded.
    await page.waitForURL('**/login')
    expect(await readToken(page)).toBeNull()
  })

  test('is kept while the server is unavailable, and continues afterwards', async ({ page, account }) => {
    await openSkills(page)
    const stored = await readToken(page)
    const { idToken } = JSON.parse(account.storage.tsumugiToken ?? '{}') as { idToken: string }
    // First, because a call in the background could renew the token before the reload.
    await page.route('**/pool/', (route) =>
      route.fulfill({ status: 503, body: '<h1>Service Unavailable</h1>' }),
    )
    await page.route(/\/v1\/(me|skill|category|notification|thread)(\?|$)/, (route) =>
      route.request().headers().authorization === `Bearer ${idToken}`
        ? refuse(route, 'jwt expired')
        : route.continue(),
    )
    await page.reload()
    await expect(page.getByRole('heading', { level: 1, name: 'サーバーに接続できません' })).toBeVisible()
    expect(await readToken(page)).toEqual(stored)
    await page.unroute('**/pool/')
    await page.getByRole('button', { name: '再読み込み' }).click()
    await expect(page.getByRole('heading', { level: 1 })).toContainText('山田 太郎さん')
    expect((await readToken(page))?.idToken).not.toBe(idToken)
  })

  test('ends with its reason if the organization has switched to single sign-on', async ({ page }) => {
    await page.route('**/v1/me', (route) =>
      route.fulfill({
        status: 401,
        contentType: 'application/problem+json',
        json: {
          status: 401,
          code: 'sso_required',
          detail: 'この組織ではシングルサインオンでログインしてください。',
        },
      }),
    )
    await page.goto('/home/skill')
    await page.waitForURL('**/login')
    await expect(page.getByText('この組織ではシングルサインオンでログインしてください。')).toBeVisible()
    expect(await readToken(page)).toBeNull()
  })

  test('of a suspended account ends with its reason', async ({ page }) => {
    await page.route('**/v1/me', (route) => refuse(route, 'Not authenticated: no user found'))
    const alert = page.waitForEvent('dialog')
    const opened = page.goto('/home/skill')
    const dialog = await alert
    expect(dialog.message()).toBe('このアカウントは一時停止中か、削除されています。')
    await dialog.accept()
    await opened
    await page.waitForURL('**/login')
    expect(await readToken(page)).toBeNull()
  })

  test('of a general user has no access to the admin screens', async ({ page }) => {
    await page.goto('/admin/contract')
    await page.waitForURL('**/home/skill')
    await expect(page.getByText('管理者画面を表示する権限がありません。')).toHaveCount(1)
    await page.getByRole('button', { name: '山田 太郎さんのメニュー' }).click()
    await expect(page.getByRole('menuitem', { name: 'アカウント設定' })).toBeVisible()
    await expect(page.getByText('user@demo.example')).toBeVisible()
    await expect(page.getByRole('menuitem', { name: '管理者画面' })).toHaveCount(0)
  })
})

test.describe('an administrator', () => {
  test.use({ who: 'admin' })

  test('finds the admin screens in the menu', async ({ page }) => {
    await page.goto('/home/skill')
    await page.getByRole('button', { name: '管理 花子さんのメニュー' }).click()
    await page.getByRole('menuitem', { name: '管理者画面' }).click()
    await page.waitForURL('**/admin/contract')
  })
})

test.describe('an unknown address', () => {
  for (const path of ['/nonsense', '/home/nonsense', '/home/skill/01900000-0000-7000-8000-000000000000']) {
    test(`shows the 404 page: ${path}`, async ({ page }) => {
      await page.goto(path)
      await expect(page.getByRole('heading', { level: 1, name: 'ページが見つかりません' })).toBeVisible()
      await page.getByRole('link', { name: 'スキル一覧に戻る' }).click()
      await page.waitForURL('**/home/skill')
    })
  }

  test('shows the 404 page for another user’s thread, as for an unknown one', async ({ page, signIn }) => {
    const admin = await signIn('admin')
    const thread = await admin.newThread('汎用チャット', '他人のチャット')
    await page.goto(`/home/skill/${thread.skill.id}/chat/${thread.id}`)
    await expect(page.getByRole('heading', { level: 1, name: 'ページが見つかりません' })).toBeVisible()
    await expect(page.getByText('他人のチャット')).toHaveCount(0)
    await page.goto(`/chat/${thread.id}`)
    await expect(page.getByRole('heading', { level: 1, name: 'ページが見つかりません' })).toBeVisible()
    // The header and the list of threads stay.
    await expect(page.getByRole('navigation', { name: 'チャット' })).toBeVisible()
    await expect(page.getByRole('banner')).toBeVisible()
  })

  test('shows the 403 page at /forbidden', async ({ page }) => {
    await page.goto('/forbidden')
    await expect(page.getByRole('heading', { level: 1 })).toHaveText('このページを表示する権限がありません')
  })
})
