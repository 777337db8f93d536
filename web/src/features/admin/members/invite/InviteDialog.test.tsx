import { cleanup, fireEvent, screen } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import type { Me, NewMember } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { renderRoutes } from '@/testRoutes'
import { InviteDialog } from './InviteDialog'

afterEach(() => {
  cleanup()
  queryClient.clear()
  vi.unstubAllGlobals()
})

it('keeps the lines that were not invited, with their errors, for the next invitation', async () => {
  vi.stubGlobal('fetch', async (request: Request) => {
    const { users } = (await request.json()) as { users: NewMember[] }
    const at = users.findIndex(({ name }) => name === '拒否')
    if (at >= 0) {
      const errors = [{ field: `users[${at}].email`, message: 'このドメインには送信できません。' }]
      return Response.json({ status: 400, code: 'invalid', errors }, { status: 400 })
    }
    const results: Record<string, string> = { 満席: 'no_seat', 不可: 'unavailable', 既存: 'already_member' }
    return Response.json({
      items: users.map(({ email, name }) => ({ email, result: results[name] ?? 'invited' })),
    })
  })
  const me = { role: 'organization-super-admin' } as Me
  renderRoutes([{ path: '/', element: <InviteDialog me={me} seatsLeft={undefined} onClose={() => {}} /> }])
  fireEvent.click(screen.getByRole('button', { name: 'まとめて' }))
  const list = () => screen.getByRole<HTMLTextAreaElement>('textbox')
  const text = [
    'メール,氏名',
    'a@demo.example,鈴木',
    'b@demo.example,拒否',
    'c@demo,佐藤',
    'd@demo.example,"満席"',
    '',
    'e@demo.example,不可',
    'f@demo.example,既存',
    'A@demo.example,鈴木',
  ].join('\r\n')
  fireEvent.change(list(), { target: { value: text } })
  fireEvent.change(screen.getByRole('combobox'), { target: { value: 'organization-admin' } })
  fireEvent.click(await screen.findByRole('button', { name: '5名を招待する' }))
  fireEvent.click(await screen.findByRole('button', { name: '続けて招待する' }))
  expect(list().value).toBe(
    [
      'メール,氏名',
      'b@demo.example,拒否',
      'c@demo,佐藤',
      'd@demo.example,"満席"',
      '',
      'e@demo.example,不可',
    ].join('\n'),
  )
  const line = (email: string) => screen.getByRole('row', { name: new RegExp(email) }).textContent
  expect(line('b@demo')).toContain('このドメインには送信できません。')
  expect(line('c@demo')).toContain('メールアドレスの形式が正しくありません。')
  expect(line('d@demo')).toContain('管理者送信できます')
  expect(line('e@demo')).toContain('招待できないアドレスです')
  // A corrected line can be sent.
  fireEvent.change(list(), { target: { value: list().value.replace('拒否', '山田') } })
  fireEvent.click(await screen.findByRole('button', { name: '2名を招待する' }))
  await screen.findByText('2名のうち1名を招待しました。')
})
