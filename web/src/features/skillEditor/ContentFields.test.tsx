import { QueryClientProvider } from '@tanstack/react-query'
import { render, screen } from '@testing-library/react'
import { afterEach, expect, it, vi } from 'vitest'
import { modelChoiceQuery } from '@/entities/model/models'
import { ApiError } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { ContentFields } from './ContentFields'
import { emptyDraft, errorIn } from './content'

afterEach(() => queryClient.clear())

it('shows the error of any line of a list in the more settings', () => {
  vi.stubGlobal('fetch', async () => Response.json({ items: [] }))
  const failure = new ApiError(400, {
    errors: [
      { field: 'content.keywords[3]', message: '検索用の言葉は30文字以内で入力してください（現在31文字）。' },
    ],
  })
  const show = (failure: ApiError | null) => (
    <QueryClientProvider client={queryClient}>
      <ContentFields
        content={{ ...emptyDraft('c').content, keywords: ['a', 'b', 'c', 'd'] }}
        documents={[]}
        missing={0}
        errorOf={(field) => errorIn(failure, `content.${field}`)}
        onChange={() => {}}
      />
    </QueryClientProvider>
  )
  const { container, rerender } = render(show(null))
  expect(container.querySelector('details')?.open).toBe(false)
  rerender(show(failure))
  expect(container.querySelector('details')?.open).toBe(true)
  const field = screen.getByLabelText(/^検索用の言葉/)
  expect(field.getAttribute('aria-invalid')).toBe('true')
  expect(screen.getByText(/現在31文字/)).toBeTruthy()
})

it('says that the chosen model cannot call tools', async () => {
  vi.stubGlobal('fetch', async () => Response.json({ items: [] }))
  queryClient.setQueryData(modelChoiceQuery().queryKey, {
    default_id: 'a',
    models: [
      { id: 'a', name: '標準', sees: false, thinking: 'none' },
      { id: 'b', name: '軽量', sees: false, thinking: 'none', no_tools: true },
    ],
  })
  const show = (model: string, tools: string[]) => (
    <QueryClientProvider client={queryClient}>
      <ContentFields
        content={{ ...emptyDraft('c').content, model, tools }}
        documents={[]}
        missing={0}
        errorOf={() => undefined}
        onChange={() => {}}
      />
    </QueryClientProvider>
  )
  const { rerender } = render(show('b', ['calculate']))
  const note = await screen.findByText('モデル「軽量」はツールを使えないため、ツールなしで回答します。')
  rerender(show('', ['calculate']))
  expect(note.textContent).toContain('必要に応じて')
  rerender(show('b', []))
  expect(note.textContent).toContain('必要に応じて')
})
