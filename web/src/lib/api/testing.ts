import { callAs } from './caller'
import type { Endpoint, Operation } from './http'
import { endpoints } from './operations.gen'
import { queryClient } from './queries'

/** Puts a complete list into the cache. */
export function fillList(query: { readonly queryKey: readonly unknown[] }, items: readonly unknown[]): void {
  queryClient.setQueryData(query.queryKey, { pages: [{ items, more: false }], pageParams: [0] })
}

/** answerCalls makes the functions respond to the calls of their operations, and the network fail for all others. */
export function answerCalls(answers: Partial<Record<Operation, () => unknown>>): void {
  callAs({
    token: async () => null,
    userId: () => '',
    fetch: async ({ method, url }) => {
      const { pathname } = new URL(url, location.href)
      const operation = (Object.keys(answers) as Operation[]).find((name) => {
        const { method: own = 'GET', path }: Endpoint = endpoints[name]
        return own === method && path === pathname
      })
      const body = operation === undefined ? Promise.reject(new TypeError('offline')) : answers[operation]?.()
      return Response.json((await body) ?? {})
    },
  })
}
