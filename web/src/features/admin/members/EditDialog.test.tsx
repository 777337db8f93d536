import { QueryClientProvider } from '@tanstack/react-query'
import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { Me, Member } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { memberLimitQuery } from '../queries'
import { EditDialog } from './EditDialog'

const me: Me = {
  id: 'me',
  name: '管理 花子',
  email: 'admin@demo.example',
  role: 'organization-super-admin',
  state: 'active',
  auth_type: 'cognito',
  organization: { id: 'o', name: 'デモ株式会社' },
}
const member: Member = {
  id: 'm',
  name: '鈴木 花子',
  email: 'hanako@demo.example',
  role: 'general-user',
  state: 'active',
  auth_type: 'cognito',
  sso_linked: false,
  tokens: { used: 1200, rule: 'default' },
}

describe('the form of a member', () => {
  const server = vi.fn<typeof fetch>()
  const onClose = vi.fn()
  const reply = (status: number, body: unknown) =>
    server.mockResolvedValueOnce(new Response(JSON.stringify(body), { status }))

  beforeEach(() => {
    server.mockReset()
    onClose.mockReset()
    vi.stubGlobal('fetch', server)
    queryClient.setQueryData(memberLimitQuery.queryKey, { tokens: 50_000 })
  })

  const show = (actor = me) =>
    render(
      <QueryClientProvider client={queryClient}>
        <EditDialog me={actor} member={member} onClose={onClose} />
      </QueryClientProvider>,
    )
  const save = () => userEvent.click(screen.getByRole('button', { name: '保存する' }))

  it('sends only changes, and closes', async () => {
    reply(200, { ...member, role: 'organization-admin' })
    show()
    await userEvent.selectOptions(screen.getByLabelText('役割'), '管理者')
    await save()
    await vi.waitFor(() => expect(onClose).toHaveBeenCalledOnce())
    const request = new Request(server.mock.calls[0]?.[0] ?? '')
    expect([request.method, new URL(request.url).pathname]).toEqual(['PUT', '/v1/user/m'])
    expect(await request.json()).toEqual({ role: 'organization-admin' })
  })

  it('sends the member’s limit, but no invalid number', async () => {
    reply(200, member)
    show()
    screen.getByRole('option', { name: '組織の上限に従う（50,000トークン）' })
    await userEvent.selectOptions(screen.getByLabelText('月の上限'), 'own')
    await save()
    screen.getByText(/以下の数を入力してください/)
    expect(server).not.toHaveBeenCalled()
    await userEvent.type(screen.getByLabelText('この人のトークン数'), '７,０００')
    await save()
    await vi.waitFor(() => expect(onClose).toHaveBeenCalledOnce())
    expect(await new Request(server.mock.calls[0]?.[0] ?? '').json()).toEqual({
      token_limit: { rule: 'own', tokens: 7000 },
    })
  })

  it('requires a name before sending', async () => {
    show()
    await userEvent.clear(screen.getByLabelText('名前'))
    await save()
    expect(screen.getByText('名前を入力してください。')).toBeTruthy()
    expect(document.activeElement).toBe(screen.getByLabelText('名前'))
    expect(server).not.toHaveBeenCalled()
  })

  it('shows the server’s refusal, and keeps the input', async () => {
    reply(409, { detail: '有効な特権管理者が一人もいなくなります。', code: 'conflict' })
    show()
    await userEvent.selectOptions(screen.getByLabelText('状態'), '停止中')
    await save()
    expect(await screen.findByText('有効な特権管理者が一人もいなくなります。')).toBeTruthy()
    expect((screen.getByLabelText('状態') as HTMLSelectElement).value).toBe('inactive')
    expect(onClose).not.toHaveBeenCalled()
  })

  it('shows the roles that an administrator may not grant, with the reason', () => {
    show({ ...me, role: 'organization-admin' })
    expect((screen.getByRole('option', { name: '特権管理者' }) as HTMLOptionElement).disabled).toBe(true)
    expect(screen.getByText('管理者の役割を付けられるのは、特権管理者だけです。')).toBeTruthy()
  })
})
