import { QueryClientProvider } from '@tanstack/react-query'
import { cleanup, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, expect, it, vi } from 'vitest'
import { queryClient } from '@/lib/api/queries'
import { emptyDraft } from './content'
import { Requests } from './Requests'

afterEach(() => {
  cleanup()
  queryClient.clear()
  vi.unstubAllGlobals()
})

it('shows all of a skill that an administrator may publish', async () => {
  const request = {
    id: 'r',
    skill_id: 's',
    skill_name: '報告',
    icon_path: '/icons/skills/report.svg',
    user_name: '鈴木 花子',
    user_email: 'hanako@demo.example',
    note: '',
    created_at: '2026-04-01T00:00:00Z',
  }
  const content = {
    ...emptyDraft('c').content,
    icon: 'minutes',
    prompt: '結論から報告する。',
    tools: ['search_web', 'mail__send'],
    form_fields: [
      { name: 'field_1', label: '会社名', type: 'text', required: true, placeholder: '株式会社紡' },
    ],
    accepts_data_sources: true,
    examples: [{ question: '見本の質問', answer: '見本の回答' }],
  }
  vi.stubGlobal('fetch', async (input: Request) =>
    Response.json(
      new URL(input.url).pathname.endsWith('/r') ? { ...request, content } : { items: [request], total: 1 },
    ),
  )
  render(
    <QueryClientProvider client={queryClient}>
      <Requests />
    </QueryClientProvider>,
  )
  await userEvent.click(await screen.findByRole('button', { name: '確認する' }))
  const dialog = await screen.findByRole('dialog')
  for (const text of [
    '結論から報告する。',
    'アイコン: 議事録',
    'ウェブを検索',
    'mail__send',
    '会社名',
    '株式会社紡',
    'ファイルの追加を許可',
    '見本の回答',
  ])
    expect(dialog.textContent).toContain(text)
})
