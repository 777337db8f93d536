import { QueryClientProvider } from '@tanstack/react-query'
import { cleanup, render, screen } from '@testing-library/react'
import { afterEach, describe, expect, it } from 'vitest'
import type { Role } from '@/lib/api'
import { configQuery, queryClient } from '@/lib/api/queries'
import { ModelBanner } from './ModelBanner'

describe('without a model', () => {
  afterEach(() => {
    cleanup()
    queryClient.clear()
  })

  const show = (role: Role, connected: boolean) => {
    queryClient.setQueryData(configQuery.queryKey, {
      brand: 'Tsumugi',
      links: {},
      model_connected: connected,
    })
    const { container } = render(
      <QueryClientProvider client={queryClient}>
        <ModelBanner role={role} />
      </QueryClientProvider>,
    )
    return container
  }

  it.each(['organization-admin', 'organization-super-admin'] as const)('%s reads what to set', (role) => {
    show(role, false)
    expect(screen.getByRole('heading', { name: 'AIモデルが未設定です' })).toBeTruthy()
    expect(screen.getByText(/OPENAI_API_KEY/)).toBeTruthy()
  })

  it.each([
    ['general-user', false],
    ['organization-admin', true],
  ] as const)('nothing is said to %s (a model: %s)', (role, connected) => {
    expect(show(role, connected).textContent).toBe('')
  })
})
