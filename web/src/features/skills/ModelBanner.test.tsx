import { QueryClientProvider } from '@tanstack/react-query'
import { render, screen } from '@testing-library/react'
import { MemoryRouter } from 'react-router'
import { afterEach, describe, expect, it } from 'vitest'
import type { Role, Skill } from '@/lib/api'
import { configQuery, queryClient, skillsQuery } from '@/lib/api/queries'
import { ModelBanner } from './ModelBanner'

const skill = (values: Partial<Skill>) => ({ kind: '', form_type: 'chat', ...values }) as Skill

describe('without a model', () => {
  afterEach(() => queryClient.clear())

  const show = (role: Role, connected: boolean) => {
    queryClient.setQueryData(configQuery.queryKey, {
      brand: 'Tsumugi',
      links: { help: 'https://help.example/' },
      model_connected: connected,
    })
    queryClient.setQueryData(skillsQuery.queryKey, [
      skill({ name: '汎用チャット' }),
      skill({ name: '要約', task_type: 'summarization' }),
      skill({ name: '文章校正', kind: 'proofreading_v2', form_type: 'form' }),
      skill({ name: '翻訳', form_type: 'form', unavailable_reason: '未設定' }),
    ])
    const { container } = render(
      <QueryClientProvider client={queryClient}>
        <MemoryRouter>
          <ModelBanner role={role} />
        </MemoryRouter>
      </QueryClientProvider>,
    )
    return container
  }

  it.each(['organization-admin', 'organization-super-admin'] as const)(
    '%s is led to the settings',
    (role) => {
      const text = show(role, false).textContent
      expect(screen.getByRole('heading', { name: 'AIモデルが未設定です' })).toBeTruthy()
      expect(screen.getByRole('link', { name: 'モデルの接続方法' }).getAttribute('href')).toBe('/admin/model')
      expect(screen.getByRole('link', { name: 'ヘルプ' }).getAttribute('href')).toBe('https://help.example/')
      expect(text).toContain('利用できるスキル：要約、文章校正')
      expect(text).not.toContain('管理者に')
    },
  )

  it('a member is told whom to ask', () => {
    expect(show('general-user', false).textContent).toContain('管理者にモデルの接続を依頼してください。')
    expect(screen.queryByRole('link')).toBeNull()
  })

  it('nothing is shown once a model is connected', () => {
    expect(show('organization-admin', true).textContent).toBe('')
  })
})
