import { QueryClientProvider } from '@tanstack/react-query'
import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Group } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { AddMembers } from './AddMembers'

const group: Group = { id: 'g', name: '営業部', description: '', source: 'manual', member_count: 3 }

describe('the dialog to add members to a group', () => {
  const changes: Array<readonly [status: number, body: unknown]> = []
  const sent: unknown[] = []

  beforeEach(() => {
    sent.length = 0
    vi.stubGlobal('fetch', async (request: Request) => {
      if (request.method === 'GET') return Response.json({ items: [], total: 0 })
      sent.push(await request.json())
      const [status, body] = changes.shift() ?? [500, {}]
      return Response.json(body, { status })
    })
  })

  afterEach(() => queryClient.clear())

  it('adds a list with any roles, and removes an earlier error', async () => {
    changes.push(
      [503, { status: 503, code: 'unavailable', detail: '混み合っています。' }],
      [200, { group, unknown_emails: ['taro@example.co.jp'] }],
    )
    const onClose = vi.fn()
    render(
      <QueryClientProvider client={queryClient}>
        <AddMembers group={group} onClose={onClose} />
      </QueryClientProvider>,
    )
    const list = screen.getByLabelText(/メールアドレスの一覧から追加/)
    await userEvent.click(list)
    await userEvent.paste('メールアドレス,区分\nhanako@example.co.jp,正社員\ntaro@example.co.jp,派遣')
    const add = screen.getByRole('button', { name: '2名を追加' })
    await userEvent.click(add)
    await screen.findByText('混み合っています。')
    await userEvent.click(add)
    await screen.findByText('次の1件のアドレスは組織にいないため、追加していません。')
    expect(screen.queryByText('混み合っています。')).toBeNull()
    expect(sent[1]).toEqual({ add: [], add_emails: ['hanako@example.co.jp', 'taro@example.co.jp'] })
    expect(onClose).not.toHaveBeenCalled()
  })
})
