import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, expect, it, vi } from 'vitest'
import type { Member } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { AskDialog } from './AskDialog'

const member: Member = {
  id: 'm',
  name: '鈴木 花子',
  email: 'hanako@demo.example',
  role: 'general-user',
  state: 'active',
  auth_type: 'federated_idp',
  sso_linked: true,
  tokens: { used: 0, rule: 'default' },
}

afterEach(() => queryClient.clear())

it('asks before inviting a member to set a password, and then closes', async () => {
  const server = vi.fn<typeof fetch>(async () => new Response(null, { status: 204 }))
  vi.stubGlobal('fetch', server)
  const onClose = vi.fn()
  render(<AskDialog question="password" member={member} onClose={onClose} />)
  expect(screen.getByText(/鈴木 花子さん（hanako@demo.example）に、仮パスワード/)).toBeTruthy()
  expect(server).not.toHaveBeenCalled()
  await userEvent.click(screen.getByRole('button', { name: '送信する' }))
  expect(onClose).toHaveBeenCalledOnce()
  await vi.waitFor(() => expect(server).toHaveBeenCalledOnce())
  const request = new Request(server.mock.calls[0]?.[0] ?? '')
  expect([request.method, new URL(request.url).pathname]).toEqual(['POST', '/v1/user/invite/resend'])
  expect(await request.json()).toEqual({ user_id: 'm' })
})

it('lists the data that are deleted and those that remain before removing a member', async () => {
  const kept = [{ skill_id: 's', skill_name: '規程の相談', filenames: ['人事内規.md', '補足.md'] }]
  const server = vi.fn<typeof fetch>(async () =>
    Response.json({ threads: 1234, files: 5, skills: 2, shares: 3, kept }),
  )
  vi.stubGlobal('fetch', server)
  render(<AskDialog question="remove" member={member} onClose={() => undefined} />)
  expect(await screen.findByText('規程の相談：人事内規.md、補足.md')).toBeTruthy()
  for (const line of [
    'チャット 1,234件（',
    '共有リンク 3件',
    'ファイル 5件',
    'スキル 2件',
    '監査ログ、Slackに',
  ])
    expect(screen.getByText(new RegExp(line))).toBeTruthy()
  const request = new Request(server.mock.calls[0]?.[0] ?? '')
  expect([request.method, new URL(request.url).pathname]).toEqual(['GET', '/v1/user/m/removal'])
})

it('says that it does not know what is deleted', async () => {
  vi.stubGlobal(
    'fetch',
    vi.fn<typeof fetch>(async () => new Response(null, { status: 500 })),
  )
  render(<AskDialog question="remove" member={member} onClose={() => undefined} />)
  expect((await screen.findByRole('alert')).textContent).toContain('確認できませんでした')
})
