import { QueryClientProvider } from '@tanstack/react-query'
import { render, screen, waitFor } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { StrictMode } from 'react'
import { afterEach, expect, it } from 'vitest'
import type { Notification } from '@/lib/api'
import { notificationsQuery, queryClient } from '@/lib/api/queries'
import { answerCalls } from '@/lib/api/testing'
import { Notices } from './Notices'

const notice = (id: string): Notification => ({
  id,
  title: id,
  body: '本文です。',
  url: '',
  level: 'info',
  published_at: '2026-01-01T00:00:00Z',
  read: false,
})

afterEach(() => queryClient.clear())

it('leaves the focus where the closed notice stood, and at the page after the last', async () => {
  answerCalls({ readNotifications: () => {} })
  queryClient.setQueryData(notificationsQuery.queryKey, ['一', '二', '三', '四'].map(notice))
  render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        <main tabIndex={-1}>
          <Notices />
        </main>
      </QueryClientProvider>
    </StrictMode>,
  )
  const close = (name: string) => screen.getByRole('button', { name: new RegExp(`${name}.*閉じる`) })
  const focused = (element: () => Element) => waitFor(() => expect(document.activeElement).toBe(element()))

  close('二').focus()
  for (const next of ['三', '四', '一']) {
    await userEvent.keyboard('{Enter}')
    await focused(() => close(next))
  }
  await userEvent.keyboard('{Enter}')
  await focused(() => screen.getByRole('main'))
})
