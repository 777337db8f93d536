import { readFile } from 'node:fs/promises'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Answer } from './documented/answer.js'
import { follow } from './documented/eventsource-parser.js'
import { ask } from './documented/fetch-event-source.js'
import { atEachByte, bytesOf, fakeFetch, problem, type Run, script, streamed } from './server.js'

const first: Run = { deltas: ['こ', 'んに', 'ちは🧵', '\n\nid: 9-9\n', '終'] }
const second: Run = { deltas: ['新しい', '答え'] }
const clients: Record<string, (server: string) => Promise<Answer>> = {
  'fetch-event-source': (server) => ask(`${server}/v1/message/stream`, 'token', '{"request_id":"r"}'),
  'eventsource-parser': (server) => follow(`${server}/v1/message/a/stream`, 'token'),
}

/** The offset after `retry: 1`. A client that is disconnected before it waits longer. */
const afterRetryField = 10

/** The fetch functions of the servers of a test, by their URL. */
const servers = new Map<string, typeof fetch>()

beforeEach(() => {
  vi.stubGlobal('fetch', (input: string, init?: RequestInit) => {
    const serve = servers.get(new URL(input).origin)
    return serve ? serve(input, init) : Promise.reject(new Error(`no server for ${input}`))
  })
  // fetch-event-source listens to the page's visibility, and waits with the window's timers.
  vi.stubGlobal('document', { hidden: false, addEventListener() {}, removeEventListener() {} })
  vi.stubGlobal('window', globalThis)
})

afterEach(() => {
  servers.clear()
  vi.unstubAllGlobals()
})

/** Starts a server, and returns its URL and the list of its calls. */
function serve(...answer: Parameters<typeof fakeFetch>) {
  const { fetch, calls } = fakeFetch(...answer)
  const server = `http://${servers.size}.t.example`
  servers.set(server, fetch)
  return { server, calls }
}

describe.each(Object.entries(clients))('%s, with the code of docs/streaming.md', (_, client) => {
  it.each([false, true])(
    'ends with the stored text, disconnected at any byte (id first: %s)',
    async (idFirst) => {
      await atEachByte(afterRetryField, bytesOf(script(1, first, null, idFirst)).length, async (cut) => {
        const { server, calls } = serve((call, index) => {
          const bytes = bytesOf(script(1, first, call.headers.get('last-event-id'), idFirst))
          return index === 0 ? streamed(bytes.slice(0, cut), 'break') : streamed(bytes)
        })
        expect((await client(server)).text, `cut at ${cut}`).toBe(first.deltas.join(''))
        expect(calls.length).toBeLessThanOrEqual(2)
      })
    },
  )

  it('never mixes two runs, both disconnected at any byte', async () => {
    const length = bytesOf(script(1, first, null)).length - 16
    await atEachByte(afterRetryField, length, async (cut) => {
      const { server } = serve((call, index) => {
        const cursor = call.headers.get('last-event-id')
        if (index === 0) return streamed(bytesOf(script(1, first, null)).slice(0, cut), 'break')
        const bytes = bytesOf(script(2, second, cursor))
        const again = afterRetryField + ((cut * 7919) % (bytes.length - 16 - afterRetryField))
        return index === 1 ? streamed(bytes.slice(0, again), 'break') : streamed(bytes)
      })
      expect((await client(server)).text, `cut at ${cut}`).toBe('新しい答え')
    })
  })

  it('keeps the text that a later run continues, disconnected at any byte', async () => {
    const rest: Run = { deltas: [...first.deltas, 'の続き'] }
    const whole = script(1, first, null)
    await atEachByte(
      afterRetryField,
      bytesOf(whole.slice(0, whole.indexOf('text-end'))).length,
      async (cut) => {
        const { server } = serve((call, index) =>
          index === 0
            ? streamed(bytesOf(whole).slice(0, cut), 'break')
            : streamed(bytesOf(script(2, rest, call.headers.get('last-event-id'), false, 1))),
        )
        expect((await client(server)).text, `cut at ${cut}`).toBe(rest.deltas.join(''))
      },
    )
  })

  it('throws the detail of a refusal', async () => {
    const { server } = serve(() => problem(404, { code: 'not_found', detail: '見つかりません。' }))
    await expect(client(server)).rejects.toThrow('見つかりません。')
  })
})

describe('docs/streaming.md', () => {
  it.each(['answer', 'fetch-event-source', 'eventsource-parser', 'event-source'])(
    'contains the tested code of %s',
    async (name) => {
      const docs = await readFile(new URL('../../../docs/streaming.md', import.meta.url), 'utf8')
      const code = await readFile(new URL(`./documented/${name}.ts`, import.meta.url), 'utf8')
      expect(docs.includes(code)).toBe(true)
    },
  )
})
