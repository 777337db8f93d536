import { readFile } from 'node:fs/promises'
import type { Locator } from '@playwright/test'
import { open, test } from './support/admin'
import { plainSkill } from './support/chat'
import { expect } from './support/test'

test.use({ who: 'admin' })

test('usage, members and the audit log are saved for a spreadsheet', async ({ page, account, question }) => {
  const thread = await account.newThread(plainSkill, '利用状況')
  await account.ask(thread.id, question)
  const save = async (button: Locator) => {
    const [file] = await Promise.all([page.waitForEvent('download'), button.click()])
    const text = await readFile(await file.path(), 'utf8')
    expect(text.startsWith('\ufeff'), 'the mark that Excel needs').toBe(true)
    return { name: file.suggestedFilename(), lines: text.slice(1).trimEnd().split('\r\n') }
  }
  const button = page.getByRole('button', { name: 'CSVで保存' })
  await open(page, '/admin/contract', '契約')
  const usage = await save(button)
  expect(usage.name).toMatch(/^tsumugi-usage-\d{4}-\d\d-01-\d{4}-\d\d-\d\d\.csv$/)
  expect(
    usage.lines.some((line) => /^\d{4}-\d\d-\d\d,[^,]+,admin@demo\.example,\d+,\d+,\d+$/.test(line)),
  ).toBe(true)
  await open(page, '/admin/organization/member', 'メンバー')
  const members = await save(button)
  expect(members.lines.some((line) => line.startsWith('user@demo.example,'))).toBe(true)
  await open(page, '/admin/audit?action=session.begin', '監査ログ')
  const audit = await save(button)
  expect(audit.lines.length).toBeGreaterThan(1)
  expect(audit.lines.slice(1).every((line) => line.includes(',session.begin,'))).toBe(true)
})
