import type { Locator, Page } from '@playwright/test'
import type { components } from '../../src/lib/api/schema.gen'
import type { Account } from './account'
import { expect, testOn } from './test'
import { Tsumugi } from './tsumugi'

type Member = components['schemas']['User']

export const organization = 'デモ株式会社'

/** The tests of the admin screens change their organization, so they use a separate server. */
export const test = testOn('admin', (model) => Tsumugi.start(model))

export const heading = (page: Page, name: string | RegExp) =>
  expect(page.getByRole('heading', { level: 1, name })).toBeVisible()

export async function open(page: Page, path: string, name: string | RegExp): Promise<void> {
  await page.goto(path)
  await heading(page, name)
}

/** The row of a member in the list. */
export const lineOf = (page: Page, email: string): Locator => page.getByRole('row').filter({ hasText: email })

/** Opens the menu of a row and chooses an item. */
export async function choose(page: Page, email: string, item: string): Promise<void> {
  await lineOf(page, email)
    .getByRole('button', { name: /さんの操作$/ })
    .click()
  await page.getByRole('menuitem', { name: item }).click()
}

export async function membersOf(admin: Account): Promise<Member[]> {
  const answer = await admin.call('GET', '/v1/user?limit=100')
  return ((await answer.json()) as { items: Member[] }).items
}

export async function invite(admin: Account, people: readonly string[]): Promise<void> {
  const users = people.map((name) => ({ email: `${name}@demo.example`, name, role: 'general-user' }))
  await admin.call('POST', '/v1/user/invite', { users })
}
