import { QueryClientProvider } from '@tanstack/react-query'
import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Thread } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { setup, thread } from '../conversation/testing'
import { ProjectDialog } from './ProjectDialog'

describe('the dialog that moves a chat into a project', () => {
  const names = Array.from({ length: 130 }, (_, at) => `案件${String(at + 1).padStart(3, '0')}`)
  const moves = vi.fn<(body: unknown) => void>()
  const onClose = vi.fn()
  let down = false

  beforeEach(() => {
    down = false
    queryClient.clear()
    vi.stubGlobal('fetch', async (request: Request) => {
      const url = new URL(request.url)
      const at = Number(url.searchParams.get('offset'))
      const limit = Number(url.searchParams.get('limit'))
      const found = names.filter((name) => name.includes(url.searchParams.get('search') ?? ''))
      if (request.method === 'PUT') {
        const body = (await request.json()) as { visibility: string }
        moves(body)
        return Response.json({ ...thread, visibility: body.visibility })
      }
      if (url.pathname.endsWith('/audience'))
        return Response.json({ member_count: 2, questions: 1, files: [] })
      if (url.pathname === '/v1/share')
        return Response.json({ items: [{ id: 's', thread_id: url.searchParams.get('thread_id') }], total: 1 })
      if (down) return Response.json({}, { status: 404 })
      return Response.json({ items: found.slice(at, at + limit).map((name) => ({ id: name, name })) })
    })
  })

  afterEach(() => {
    moves.mockReset()
    onClose.mockReset()
  })

  const show = (change: Partial<Thread> = {}) =>
    render(
      <QueryClientProvider client={queryClient}>
        <ProjectDialog
          conversation={setup().conversation}
          thread={{ ...thread, ...change }}
          onClose={onClose}
        />
      </QueryClientProvider>,
    )
  const search = () => screen.getByRole('textbox', { name: 'プロジェクト名で検索' })
  const save = () => userEvent.click(screen.getByRole('button', { name: '保存する' }))

  it('finds any project by its name, with the keyboard, and keeps one at a time', async () => {
    show()
    expect(screen.getByText('読み込み中...')).toBeTruthy()
    await userEvent.click(await screen.findByRole('checkbox', { name: '案件001' }))
    await userEvent.type(search(), '案件130')
    ;(await screen.findByRole('checkbox', { name: '案件130' })).focus()
    await userEvent.keyboard(' ')
    expect(screen.getAllByRole('button', { name: /を選択から外す$/ })).toHaveLength(1)
    await userEvent.click(screen.getByRole('radio', { name: 'プロジェクトのメンバー' }))
    expect(await screen.findByText(/^2人のメンバーが/)).toBeTruthy()
    expect(await screen.findByText(/^このチャットの共有リンクは/)).toBeTruthy()
    await save()
    expect(moves).toHaveBeenCalledExactlyOnceWith({ project_id: '案件130', visibility: 'project' })
    expect(onClose).toHaveBeenCalledOnce()
  })

  it('reports that no project matches, and a list that does not load', async () => {
    show()
    await userEvent.type(search(), '決算')
    expect(await screen.findByText(/^該当するプロジェクトはありません。/)).toBeTruthy()
    down = true
    await userEvent.type(search(), '期')
    expect(await screen.findByText('読み込みに失敗しました')).toBeTruthy()
    down = false
    await userEvent.clear(search())
    await userEvent.type(search(), '案件007')
    expect(await screen.findByRole('checkbox', { name: '案件007' })).toBeTruthy()
  })

  it('moves a chat out of its project, which need not be among those that can be chosen', async () => {
    show({ project: { id: 'p', name: '終わった案件' }, visibility: 'project' })
    await userEvent.click(screen.getByRole('button', { name: '終わった案件を選択から外す' }))
    expect(screen.queryByRole('radio')).toBeNull()
    await save()
    expect(moves).toHaveBeenCalledExactlyOnceWith({ project_id: null, visibility: 'private' })
  })
})
