import { expect, type Page } from '@playwright/test'
import type { Account } from './account'
import { fact, type Mail } from './mail'
import type { Tsumugi } from './tsumugi'

/** An invited user, with the contents of their mail. */
export interface Invited {
  readonly email: string
  readonly name: string
  readonly temporary: string
  readonly mail: Mail
}

/** Invites a new user as an administrator. */
export async function invite(server: Tsumugi, admin: Account, role = 'general-user'): Promise<Invited> {
  const email = `p-${crypto.randomUUID()}@demo.example`
  const name = '佐藤 三郎'
  await admin.call('POST', '/v1/user/invite', { users: [{ email, name, role }] })
  const mail = await newMail(server, email, 0)
  return { email, name, temporary: fact(mail, '仮パスワード'), mail }
}

/** The next mail to an address that has received this many before. */
export async function newMail(server: Tsumugi, email: string, before: number): Promise<Mail> {
  await expect.poll(async () => (await server.mails(email)).length).toBe(before + 1)
  return (await server.mails(email)).at(-1) as Mail
}

/** The page's stored session; null for none. */
export function readToken(page: Page): Promise<Record<string, string> | null> {
  return page.evaluate(
    () => JSON.parse(localStorage.getItem('tsumugiToken') ?? 'null') as Record<string, string> | null,
  )
}

/** Signs in on the open page /login. */
export async function enter(page: Page, email: string, secret: string): Promise<void> {
  await page.getByLabel('メールアドレス').fill(email)
  await page.getByRole('button', { name: '次へ' }).click()
  await page.getByLabel('パスワード', { exact: true }).fill(secret)
  await page.getByRole('button', { name: 'ログイン' }).click()
}

/** Refuses a call as one that needs a recent sign-in, until the page has signed in again. */
export async function requireSignIn(page: Page, url: string): Promise<void> {
  const before = await readToken(page)
  await page.route(url, async (route) => {
    const old = route.request().headers().authorization === `Bearer ${before?.idToken}`
    if (route.request().method() === 'GET' || !old) return route.continue()
    const detail = 'この操作には、15分以内のログインが必要です。もう一度ログインしてください。'
    return route.fulfill({ status: 403, json: { status: 403, code: 'recent_sign_in_required', detail } })
  })
}

/** Signs out the user with that name, and opens the sign-in page. */
export async function signOut(page: Page, name: string): Promise<void> {
  await page.goto('/home/skill')
  await page.getByRole('button', { name: `${name}さんのメニュー` }).click()
  await page.getByRole('menuitem', { name: 'ログアウト' }).click()
  await page.waitForURL('**/logout/success')
  await page.goto('/login')
}
