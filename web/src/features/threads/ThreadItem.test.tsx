import { render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { MemoryRouter } from 'react-router'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { threadDeletions, threadsQuery, useThreads } from '@/entities/thread/threads'
import type { Thread } from '@/lib/api'
import { fillList } from '@/lib/api/testing'
import { ThreadItem } from './ThreadItem'

const thread = (id: string, title: string) =>
  ({
    id,
    title,
    skill: { id: 's', name: '汎用チャット', icon_path: '/i.svg' },
    touched_at: '2026-01-01T00:00:00Z',
    running: false,
  }) as Thread

function List() {
  return (
    <ul>
      {useThreads().items.map((item) => (
        <ThreadItem key={item.id} thread={item} />
      ))}
    </ul>
  )
}

describe('a thread of the list', () => {
  beforeEach(() => {
    vi.stubGlobal('fetch', async () => new Response(null, { status: 204 }))
    fillList(threadsQuery, [thread('a', '議事録'), thread('b', '英訳'), thread('c', '企画')])
    render(
      <MemoryRouter initialEntries={['/home/skill']}>
        <List />
      </MemoryRouter>,
    )
  })
  afterEach(() => threadDeletions.flush())

  const choose = async (title: string, item: string) => {
    await userEvent.click(screen.getByRole('button', { name: `「${title}」の操作` }))
    await userEvent.click(screen.getByRole('menuitem', { name: item }))
  }
  const focused = (title: string) =>
    vi.waitFor(() => expect(document.activeElement).toBe(screen.getByRole('link', { name: title })))

  it('leaves the focus with its neighbour when it is deleted', async () => {
    await choose('英訳', '削除')
    expect(screen.queryByRole('link', { name: '英訳' })).toBeNull()
    await focused('企画')
    await choose('企画', '削除')
    await focused('議事録')
  })

  it('keeps the focus when its name has been changed', async () => {
    await choose('議事録', '名前を変更')
    const field = screen.getByRole('textbox', { name: 'チャット名' })
    await vi.waitFor(() => expect(document.activeElement).toBe(field))
    await userEvent.keyboard('{Escape}')
    await focused('議事録')
  })
})
