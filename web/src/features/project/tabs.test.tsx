import { fireEvent, screen, within } from '@testing-library/react'
import { type ComponentType, useState } from 'react'
import { Link, Outlet } from 'react-router'
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { GENERAL_CHAT } from '@/entities/skill/generalChat'
import { sourceQuery } from '@/entities/source/dataSources'
import type { DataSource, Project } from '@/lib/api'
import { queryClient, skillsQuery } from '@/lib/api/queries'
import { renderRoutes } from '@/testRoutes'
import { CreateProject } from './CreateProject'
import { FilesTab } from './files/FilesTab'
import { InstructionsTab } from './InstructionsTab'
import { ProjectPage } from './ProjectPage'
import { projectQuery } from './queries'
import { SettingsTab } from './SettingsTab'
import { ThreadsTab } from './ThreadsTab'
import { texts } from './texts'

const project: Project = {
  id: 'p',
  name: '採用',
  description: '',
  instructions: '',
  role: 'manager',
  version: 1,
  archived: false,
  counts: { threads: 0, data_sources: 0, members: 1 },
  storage_used: 0,
  created_at: '2026-03-04T05:06:07Z',
  updated_at: '2026-03-04T05:06:07Z',
}

/** Ends the pending request that saves the project. */
let saved: (response: Response) => void

/** The body of that request. */
let sent: () => Promise<unknown>

beforeEach(() => {
  saved = undefined as never
  HTMLDialogElement.prototype.showModal ??= () => {}
  vi.stubGlobal('fetch', (request: Request) => {
    if (request.method === 'PUT') {
      sent = () => request.json()
      return new Promise((resolve) => (saved = resolve))
    }
    if (request.method === 'DELETE') return Promise.resolve(new Response(null, { status: 204 }))
    const { pathname } = new URL(request.url)
    if (pathname.endsWith('/project/p')) return Promise.resolve(Response.json(project))
    const nothing = { items: [], total: 0, input_tokens: 0, output_tokens: 0, workspace: '' }
    return Promise.resolve(Response.json(nothing))
  })
})

afterEach(() => queryClient.clear())

function show(Tab: ComponentType, query = '', change: Partial<Project> = {}) {
  const page = <Outlet context={{ ...project, ...change }} />
  const routes = [
    { element: page, children: [{ path: '/', element: <Tab /> }] },
    { path: '/home/project', element: <p>一覧</p> },
    { path: '/home/project/p', element: <p>作成したプロジェクト</p> },
    { path: `/home/skill/${GENERAL_CHAT}`, element: <p>新しいチャット</p> },
  ]
  renderRoutes(routes, `/${query}`)
}

const field = (name: RegExp) => screen.findByRole<HTMLTextAreaElement>('textbox', { name })
const save = () => fireEvent.click(screen.getByRole('button', { name: '保存する' }))
const type = (element: HTMLElement, value: string) => fireEvent.change(element, { target: { value } })

it.each([
  ['settings', SettingsTab, 'description', /^説明/],
  ['instructions', InstructionsTab, 'instructions', /^指示/],
] as const)('keeps what is typed while the %s are saved', async (_, Tab, key, name) => {
  show(Tab)
  const box = await field(name)
  type(box, '敬語で書く。')
  save()
  await vi.waitFor(() => expect(saved).toBeDefined())
  type(box, '敬語で書く。短く。')
  saved(Response.json({ ...project, version: 2, [key]: '敬語で書く。' }))
  const button = screen.getByRole('button', { name: '保存する' })
  await vi.waitFor(() => expect(button.getAttribute('aria-busy')).toBeNull())
  expect(box.value).toBe('敬語で書く。短く。')
})

it('merges a second change by another member with the text that was merged with the first one', async () => {
  const versions = ['短く書く。', '短く書く。\n出典を書く。']
  let version = 1
  vi.stubGlobal('fetch', async (request: Request) => {
    if (request.method === 'PUT') {
      version++
      return Response.json({ code: 'version_conflict' }, { status: 409 })
    }
    return Response.json({ ...project, version, instructions: versions[version - 2] })
  })
  show(InstructionsTab)
  type(await field(/^指示/), '敬語で書く。')
  save()
  const { result } = texts.instructions.conflict
  expect(await field(new RegExp(result))).toHaveProperty('value', '短く書く。\n敬語で書く。')
  fireEvent.click(screen.getByRole('button', { name: texts.instructions.conflict.save }))
  const merged = '短く書く。\n出典を書く。\n敬語で書く。'
  await vi.waitFor(async () => expect(await field(new RegExp(result))).toHaveProperty('value', merged))
})

it('says that the channels of the project could not be loaded', async () => {
  let fails = true
  vi.stubGlobal('fetch', async (request: Request) => {
    const { pathname } = new URL(request.url)
    if (pathname.endsWith('/channel') && fails) return Response.json({ code: 'forbidden' }, { status: 403 })
    return Response.json({ items: [], workspace: '紡' })
  })
  show(SettingsTab)
  const section = await screen.findByRole('region', { name: texts.channels.title })
  fails = false
  fireEvent.click(within(section).getByRole('button', { name: texts.retry }))
  await screen.findByText(texts.channels.none)
})

it('leaves a deleted project without asking about unsaved changes', async () => {
  show(SettingsTab)
  type(await field(/^説明/), '面接')
  fireEvent.click(screen.getByRole('button', { name: '削除する' }))
  const dialog = await screen.findByRole('dialog', { hidden: true })
  const end = [...dialog.querySelectorAll('button')].find(({ textContent }) => textContent === '削除する')
  if (end) fireEvent.click(end)
  await screen.findByText('一覧')
})

/** Archivable is the page of a project that another member can archive. */
function Archivable() {
  const [archived, setArchived] = useState(false)
  return (
    <>
      <button type="button" onClick={() => setArchived(true)}>
        別のメンバー
      </button>
      <Outlet context={{ ...project, archived, storage_limit: 107_374_183 }} />
    </>
  )
}

it('keeps unsaved settings when the project is archived, and does not reset the limit of storage', async () => {
  renderRoutes([{ element: <Archivable />, children: [{ path: '/', element: <SettingsTab /> }] }])
  const box = await field(/^説明/)
  expect(await field(/^ファイルの容量/)).toHaveProperty('value', '0.1')
  type(box, '面接の記録')
  fireEvent.click(screen.getByRole('button', { name: '別のメンバー' }))
  expect(await field(/^説明/)).toHaveProperty('value', '面接の記録')
  save()
  await vi.waitFor(() => expect(saved).toBeDefined())
  expect(await sent()).toMatchObject({ description: '面接の記録', storage_limit: 107_374_183 })
})

it('creates a project after the result of the first attempt was lost, also with another name', async () => {
  const ids: unknown[] = []
  vi.stubGlobal('fetch', async (request: Request) => {
    ids.push(((await request.json()) as { request_id: string }).request_id)
    if (ids.length < 3) throw new TypeError('connection lost')
    return Response.json(project, { status: 201 })
  })
  show(() => <CreateProject onClose={() => {}} />)
  const button = screen.getByRole('button', { name: texts.create.submit, hidden: true })
  const name = screen.getByRole<HTMLTextAreaElement>('textbox', { name: /^名前/, hidden: true })
  for (const [at, text] of ['採用', '採用', '採用2026'].entries()) {
    type(name, text)
    fireEvent.click(button)
    await vi.waitFor(() => expect(ids).toHaveLength(at + 1))
    if (at < 2) await vi.waitFor(() => expect(button.getAttribute('aria-busy')).toBeNull())
  }
  await screen.findByText('作成したプロジェクト')
  expect(ids[1]).toBe(ids[0])
  expect(ids[2]).not.toBe(ids[0])
})

it('keeps the search after the last found file is removed', async () => {
  show(FilesTab, '?q=abc')
  expect(await screen.findByRole('textbox')).toHaveProperty('value', 'abc')
})

it('removes many files although the server refuses some calls for a while', async () => {
  vi.useFakeTimers({ shouldAdvanceTime: true })
  onTestFinished(() => void vi.useRealTimers())
  const items = ['一.txt', '二.txt'].map((filename) => ({
    id: filename,
    filename,
    size: 1,
    status: 'success',
    created_at: project.created_at,
  }))
  const removed: string[] = []
  let refused = false
  vi.stubGlobal('fetch', (request: Request) => {
    if (request.method !== 'DELETE') return Promise.resolve(Response.json({ items, total: items.length }))
    if (removed.length === 1 && !refused) {
      refused = true
      return Promise.resolve(Response.json({ code: 'rate_limited' }, { status: 429 }))
    }
    removed.push(decodeURIComponent(request.url).slice(-5))
    return Promise.resolve(new Response(null, { status: 204 }))
  })
  show(FilesTab, '', { counts: { ...project.counts, data_sources: items.length } })
  for (const { filename } of items) {
    fireEvent.click(await screen.findByRole('checkbox', { name: texts.files.select(filename) }))
  }
  fireEvent.click(screen.getByRole('button', { name: texts.files.removeChosen(2) }))
  fireEvent.click(screen.getByRole('button', { name: texts.files.removing.end }))
  await screen.findByText(texts.files.removing.progress(1, 2))
  await vi.waitFor(() => expect(refused).toBe(true))
  await vi.advanceTimersByTimeAsync(10_000)
  await vi.waitFor(() => expect(removed).toEqual(['一.txt', '二.txt']))
})

it('updates the open file when the list has a newer state of it', async () => {
  const file = { id: 'f', filename: '議事録.txt', size: 1, created_at: project.created_at }
  queryClient.setQueryData(sourceQuery('f').queryKey, {
    ...file,
    status: 'running',
    revision: 2,
  } as DataSource)
  vi.stubGlobal('fetch', () =>
    Promise.resolve(Response.json({ items: [{ ...file, status: 'success', revision: 3 }], total: 1 })),
  )
  show(FilesTab)
  await screen.findByText('議事録.txt')
  expect(queryClient.getQueryData(sourceQuery('f').queryKey)).toMatchObject({ status: 'success' })
})

it('does not show the chats of another project until its own are loaded', async () => {
  const thread = { id: 't', title: '最終面接', skill: { id: 's', icon_path: '' }, own: true }
  vi.stubGlobal('fetch', (request: Request) => {
    const { pathname, searchParams } = new URL(request.url)
    if (pathname.endsWith('/thread')) {
      if (searchParams.get('project_id') === 'q') return new Promise(() => {})
      return Promise.resolve(Response.json({ items: [thread], total: 1 }))
    }
    if (pathname.endsWith('/skill')) return Promise.resolve(Response.json({ items: [], total: 0 }))
    return Promise.resolve(Response.json({ ...project, id: pathname.slice(-1) }))
  })
  queryClient.setQueryData(projectQuery('q').queryKey, { ...project, id: 'q', name: '経理' })
  const page = { path: '/home/project/:projectId', element: <ProjectPage /> }
  const frame = (
    <>
      <Link to="/home/project/q/chat">次へ</Link>
      <Outlet />
    </>
  )
  renderRoutes(
    [{ element: frame, children: [{ ...page, children: [{ path: 'chat', element: <ThreadsTab /> }] }] }],
    '/home/project/p/chat',
  )
  await screen.findByText('最終面接')
  fireEvent.click(screen.getByText('次へ'))
  await screen.findByRole('heading', { name: '経理' })
  expect(screen.queryByText('最終面接')).toBeNull()
})

it('offers own files that were added since the dialog was last open', async () => {
  const names = ['契約書.pdf']
  vi.stubGlobal('fetch', () => {
    const items = names.map((filename) => ({ id: filename, filename, size: 1 }))
    return Promise.resolve(Response.json({ items, total: items.length }))
  })
  show(FilesTab)
  const open = () => fireEvent.click(screen.getByRole('button', { name: texts.own.title }))
  open()
  await screen.findByRole('checkbox', { name: /契約書/ })
  fireEvent.click(screen.getByRole('button', { name: 'キャンセル' }))
  names.unshift('覚書.pdf')
  open()
  await screen.findByRole('checkbox', { name: /覚書/ })
})

it('begins a chat with the general chat if the user may not use the skill of the project', async () => {
  const skills = [{ id: GENERAL_CHAT, name: '汎用チャット' }]
  vi.stubGlobal('fetch', (request: Request) => {
    const items = new URL(request.url).pathname.endsWith('/skill') ? skills : []
    return Promise.resolve(Response.json({ items, total: items.length }))
  })
  show(ThreadsTab, '', { skill_id: 'another' })
  await vi.waitFor(() => expect(queryClient.getQueryData(skillsQuery.queryKey)).toBeDefined())
  fireEvent.click(screen.getByRole('button', { name: texts.threads.begin }))
  await screen.findByText('新しいチャット')
})
