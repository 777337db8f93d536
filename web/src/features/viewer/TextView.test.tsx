import { render, screen } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import type { DataSource } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { TextView } from './TextView'

const source: DataSource = {
  id: 'a',
  filename: 'a.txt',
  media_type: 'text/plain',
  size: 10,
  sha256: 'a',
  status: 'success',
  page_count: 1,
  chunk_count: 1,
  revision: 3,
  created_at: '2026-03-01T00:00:00Z',
}

afterEach(() => queryClient.clear())

it('keeps the text while the vectors of the file are computed', async () => {
  const passage = { id: 'p', page: 1, ordinal: 0, start: 0, end: 6, locator: '', text: '本文' }
  const server = vi.fn<typeof fetch>(async () => Response.json({ items: [passage] }))
  vi.stubGlobal('fetch', server)
  const logged = vi.spyOn(console, 'error')
  const start = { page: 1 }
  const shown = (revision: number) => (
    <TextView
      source={{ ...source, revision }}
      start={start}
      markedId={undefined}
      scroller={{ current: null }}
    />
  )
  const { rerender } = render(shown(3))
  await screen.findByText('本文')
  rerender(shown(4)) // Progress of the stage `embedding`.
  expect(screen.queryByText('本文')).not.toBeNull()
  expect(server).toHaveBeenCalledTimes(1)
  expect(logged).not.toHaveBeenCalled()
})
