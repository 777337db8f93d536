import { afterEach, expect, it, vi } from 'vitest'
import { queryClient } from '@/lib/api/queries'
import { modelUsageQuery, toolUsageQuery } from './queries'

afterEach(() => queryClient.clear())

it('reads the usage by model and by tool to the end', async () => {
  vi.stubGlobal('fetch', async (input: Request) => {
    const { searchParams } = new URL(input.url)
    expect(searchParams.get('month')).toBe('2026-04')
    const offset = Number(searchParams.get('offset'))
    const count = Math.min(Number(searchParams.get('limit')), 230 - offset)
    return Response.json({
      items: Array.from({ length: count }, (_, at) => ({ tool: offset + at })),
      total: 230,
    })
  })
  expect(await queryClient.fetchQuery(toolUsageQuery('2026-04'))).toHaveLength(230)
  expect(await queryClient.fetchQuery(modelUsageQuery('2026-04'))).toHaveLength(230)
})
