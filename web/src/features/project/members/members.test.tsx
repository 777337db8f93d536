import { fireEvent, screen } from '@testing-library/react'
import { Outlet } from 'react-router'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { Project, ProjectGrant } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { store } from '@/lib/ui/store'
import { toastsAtom } from '@/lib/ui/toast'
import { renderRoutes } from '@/testRoutes'
import { texts } from '../texts'
import { MembersTab } from './MembersTab'

const user = (id: string, role: ProjectGrant['role']): ProjectGrant => ({
  subject: { kind: 'user', id, name: id, email: `${id}@demo.example` },
  role,
})

/** The grants on the server, and the version of the project. */
let stored: { version: number; grants: ProjectGrant[] }

beforeEach(() => {
  HTMLDialogElement.prototype.showModal ??= () => {}
  HTMLDialogElement.prototype.close ??= () => {}
  stored = { version: 1, grants: [user('佐藤', 'manager'), user('鈴木', 'viewer')] }
  vi.stubGlobal('fetch', async (request: Request) => {
    const { pathname } = new URL(request.url)
    if (pathname.endsWith('/subject')) {
      return Response.json({ items: ['田中', '高橋'].map((id) => user(id, 'viewer').subject) })
    }
    if (request.method === 'PUT') {
      const { grants } = (await request.json()) as { grants: ProjectGrant[] }
      const named = grants.map(({ subject: { id }, role }) => user(id ?? '', role))
      stored = { version: stored.version + 1, grants: named }
    }
    return Response.json(pathname.endsWith('/grant') ? stored : { id: '佐藤' })
  })
})

afterEach(() => queryClient.clear())

function show() {
  const project = { id: 'p', role: 'manager', counts: {} } as Project
  const page = <Outlet context={project} />
  renderRoutes([{ element: page, children: [{ path: '/', element: <MembersTab /> }] }])
}

const message = () => store.get(toastsAtom).at(-1)?.message
const roles = () => Object.fromEntries(stored.grants.map(({ subject, role }) => [subject.id, role]))
const choose = (name: string, value: string) =>
  fireEvent.change(screen.getByRole('combobox', { name: `${name}の権限` }), { target: { value } })

it('invites members without changing a role that another manager has given meanwhile', async () => {
  show()
  fireEvent.click(await screen.findByRole('button', { name: texts.members.adding.title }))
  for (const name of ['田中', '高橋'])
    fireEvent.click(await screen.findByRole('checkbox', { name: new RegExp(name), hidden: true }))
  stored = { version: 2, grants: [...stored.grants, user('田中', 'manager')] }
  fireEvent.click(screen.getByRole('button', { name: '2件を招待', hidden: true }))
  await screen.findByText('高橋')
  expect(roles()).toEqual({ 佐藤: 'manager', 鈴木: 'viewer', 田中: 'manager', 高橋: 'viewer' })
  expect(message()).toBe(
    '1件をプロジェクトに追加しました。すでに追加されていた1件の権限は、変更していません。',
  )
})

it('does not add a member again whom another manager has removed meanwhile', async () => {
  show()
  await screen.findByText('鈴木')
  stored = { version: 2, grants: [user('佐藤', 'manager')] }
  choose('鈴木', 'editor')
  await vi.waitFor(() => expect(message()).toMatch('すでにプロジェクトから外されています。'))
  expect(roles()).toEqual({ 佐藤: 'manager' })
  await vi.waitFor(() => expect(screen.queryByText('鈴木')).toBeNull())
})

it('moves the focus to another line after a member is removed', async () => {
  show()
  const remove = await screen.findByRole('button', { name: /鈴木.*外す/ })
  remove.focus()
  fireEvent.click(remove)
  const confirm = screen.getAllByRole('button', { name: '外す', hidden: true }).at(-1)
  confirm?.focus()
  if (confirm) fireEvent.click(confirm)
  await vi.waitFor(() => expect(screen.queryByText('鈴木')).toBeNull())
  expect(document.activeElement).toBe(screen.getByRole('button', { name: /佐藤.*外す/ }))
})
