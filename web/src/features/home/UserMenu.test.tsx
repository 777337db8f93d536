import { QueryClientProvider } from '@tanstack/react-query'
import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { MemoryRouter, useLocation } from 'react-router'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { saveToken, type TokenRecord } from '@/entities/identity/token'
import type { Me } from '@/lib/api'
import { ownUsageQuery, queryClient } from '@/lib/api/queries'
import { UserMenu } from './UserMenu'

const links = {
  faq: 'https://example.com/faq',
  contact: 'https://example.com/contact',
  terms: 'https://example.com/terms',
}

function Place() {
  return <output>{useLocation().pathname}</output>
}

describe('the user menu', () => {
  beforeEach(() => {
    queryClient.clear()
    vi.stubGlobal(
      'fetch',
      vi.fn<typeof fetch>(() => new Promise(() => {})),
    )
  })

  const open = async (change: Partial<Me>, authType: TokenRecord['authType'] = 'cognito') => {
    const tokens = { refreshToken: 'r', idToken: 'i', accessToken: 'a', expiresIn: 1, tokenType: 'Bearer' }
    saveToken({ authType, clientId: 'c', ...tokens })
    const me: Me = {
      id: 'u',
      name: '鈴木 花子',
      email: 'hanako@demo.example',
      role: 'general-user',
      state: 'active',
      auth_type: 'cognito',
      organization: { id: 'o', name: 'デモ株式会社' },
      ...change,
    }
    render(
      <QueryClientProvider client={queryClient}>
        <MemoryRouter initialEntries={['/home/skill']}>
          <UserMenu me={me} links={links} narrow={false} />
          <Place />
        </MemoryRouter>
      </QueryClientProvider>,
    )
    await userEvent.click(screen.getByRole('button', { name: '鈴木 花子さんのメニュー' }))
    return screen.getAllByRole('menuitem').map((item) => item.textContent)
  }

  it('shows name and address, and the settings for users who sign in with a password', async () => {
    const items = await open({})
    expect(items).toEqual([
      'アカウント設定',
      '回答のカスタマイズ',
      '共有リンク',
      'キーボードショートカット',
      'ログアウト',
    ])
    expect(screen.getByText('hanako@demo.example')).toBeTruthy()
    await userEvent.click(screen.getByRole('menuitem', { name: 'アカウント設定' }))
    expect(screen.getByRole('status').textContent).toBe('/setting/change-password')
  })

  it('shows the usage of this month, and the time of its reset', async () => {
    queryClient.setQueryData(ownUsageQuery.queryKey, {
      messages: 1234,
      input_tokens: 30_000,
      output_tokens: 4567,
      resets_on: '2026-12-01',
      storage: { used: 0, limit: 1 },
    })
    await open({})
    expect(screen.getByText('回答1,234件・34,567トークン')).toBeTruthy()
    expect(screen.getByText('12月1日にリセットされます')).toBeTruthy()
  })

  it('shows the links for users of single sign-on', async () => {
    // The links depend on the session and not on the account, because a super-admin may sign in by password.
    const items = await open({ auth_type: 'cognito' }, 'federated_idp')
    expect(items).toEqual([
      'よくある質問',
      'お問い合わせ',
      '利用規約',
      'ログイン中の端末',
      '回答のカスタマイズ',
      '共有リンク',
      'キーボードショートカット',
      'ログアウト',
    ])
    expect(screen.getByRole('menuitem', { name: /お問い合わせ/ }).getAttribute('href')).toBe(links.contact)
  })

  it.each([
    ['organization-admin', true],
    ['organization-super-admin', true],
    ['general-user', false],
    ['system-admin', false],
  ] as const)('shows 管理者画面 to %s: %s', async (role, shown) => {
    const items = await open({ role })
    expect(items.includes('管理者画面')).toBe(shown)
    if (!shown) return
    await userEvent.click(screen.getByRole('menuitem', { name: '管理者画面' }))
    expect(screen.getByRole('status').textContent).toBe('/admin/contract')
  })
})
