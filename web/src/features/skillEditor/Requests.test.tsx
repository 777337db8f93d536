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
    suggestions: ['先週のまとめ'],
    keywords: ['報告書'],
    examples: [{ question: '見本の質問', answer: '見本の回答' }],
    document_ids: ['d1', 'd2'],
  }
  const documents = [{ id: 'd1', filename: '規程.pdf', status: 'success', owner_name: '' }]
  vi.stubGlobal('fetch', async (input: Request) => {
    const { pathname } = new URL(input.url)
    if (pathname.endsWith('/r')) return Response.json({ ...request, content, documents })
    const items = pathname.endsWith('/category') ? [{ id: 'c', name: '調査', editable: true }] : [request]
    return Response.json({ items, total: 1 })
  })
  render(
    <QueryClientProvider client={queryClient}>
      <Requests />
    </QueryClientProvider>,
  )
  await userEvent.click(await screen.findByRole('button', { name: '確認する' }))
  const dialog = await screen.findByRole('dialog')
  for (const text of [
    '結論から報告する。',
    'アイコン：議事録',
    'ウェブを検索',
    'mail__send',
    '会社名',
    '株式会社紡',
    'ファイルの追加を許可',
    '質問の例：先週のまとめ',
    '検索用の言葉：報告書',
    '見本の回答',
    '分類：調査',
    '登録するファイル：規程.pdf',
    '登録するファイル：名前が分からないファイル（d2）',
  ])
    await vi.waitFor(() => expect(dialog.textContent).toContain(text))
  // The keyboard can scroll it.
  expect(screen.getByRole('group', { name: '公開する内容' }).tabIndex).toBe(0)
})
