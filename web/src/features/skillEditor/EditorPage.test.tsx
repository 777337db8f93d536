import { QueryClientProvider } from '@tanstack/react-query'
import { act, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { useRouteError } from 'react-router'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import type { ApiError, MadeSkill } from '@/lib/api'
import { meQuery, queryClient } from '@/lib/api/queries'
import { renderRoutes } from '@/testRoutes'
import { emptyDraft } from './content'
import { EditorPage } from './EditorPage'
import { Publish } from './Publish'
import { contentQuery } from './queries'

const made = {
  ...emptyDraft('c'),
  id: 's',
  version: 1,
  content: { ...emptyDraft('c').content, name: '報告' },
} as unknown as MadeSkill

let status: number

beforeEach(() => {
  queryClient.setQueryData(meQuery.queryKey, { id: 'me', role: 'general-user' } as never)
  vi.stubGlobal('fetch', async (request: Request) => {
    const { pathname } = new URL(request.url)
    if (!pathname.endsWith('/content') && request.method === 'GET')
      return Response.json({ items: [], total: 0, models: [] })
    return Response.json(status === 200 ? made : { detail: '受け付けられません。' }, { status })
  })
})

afterEach(() => queryClient.clear())

function Failure() {
  return <p>{(useRouteError() as ApiError).status}</p>
}

function show() {
  const element = <EditorPage trial={() => null} />
  renderRoutes(
    [{ path: '/home/skill/:skillId/edit', element, errorElement: <Failure /> }],
    '/home/skill/s/edit',
  )
}

it('has no page for an unknown skill', async () => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
  status = 404
  show()
  await screen.findByText('404')
})

it('stays if the skill cannot be loaded again', async () => {
  status = 200
  show()
  expect(await screen.findByDisplayValue('報告')).toBeDefined()
  status = 404
  await act(() => queryClient.refetchQueries(contentQuery('s')))
  expect(queryClient.getQueryState(contentQuery('s').queryKey)?.status).toBe('error')
  expect(screen.getByDisplayValue('報告')).toBeDefined()
})

it('keeps the list of versions open when a version is saved', async () => {
  status = 200
  show()
  await userEvent.click(await screen.findByRole('button', { name: '版の履歴' }))
  act(() => queryClient.setQueryData(contentQuery('s').queryKey, { ...made, version: 2 }))
  expect(screen.getByRole('dialog', { name: '版の履歴' })).toBeDefined()
})

it('keeps the note of a publication request that is refused', async () => {
  const onClose = vi.fn()
  status = 409
  render(
    <QueryClientProvider client={queryClient}>
      <Publish skill={made} onClose={onClose} />
    </QueryClientProvider>,
  )
  const [note, send] = [screen.getByRole('textbox'), screen.getByRole('button', { name: /公開/ })]
  await userEvent.type(note, '全社で使います')
  await userEvent.click(send)
  await vi.waitFor(() => expect(send.getAttribute('aria-busy')).toBeNull())
  expect(onClose).not.toHaveBeenCalled()
  status = 200
  await userEvent.click(send)
  await vi.waitFor(() => expect(onClose).toHaveBeenCalledOnce())
})
