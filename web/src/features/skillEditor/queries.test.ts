import { afterEach, expect, it, vi } from 'vitest'
import { queryClient } from '@/lib/api/queries'
import { requestsQuery, versionsQuery } from './queries'

afterEach(() => queryClient.clear())

it('reads lists of more than a hundred versions or requests to the end', async () => {
  vi.stubGlobal('fetch', async (input: Request) => {
    const { searchParams } = new URL(input.url)
    const offset = Number(searchParams.get('offset'))
    const count = Math.min(Number(searchParams.get('limit')), 230 - offset)
    return Response.json({
      items: Array.from({ length: count }, (_, at) => ({ id: offset + at })),
      total: 230,
    })
  })
  expect(await queryClient.fetchQuery(versionsQuery('s'))).toHaveLength(230)
  expect(await queryClient.fetchQuery(requestsQuery)).toHaveLength(230)
})
