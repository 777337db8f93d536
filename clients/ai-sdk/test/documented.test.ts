import { readFile } from 'node:fs/promises'
import { afterEach, describe, expect, it, vi } from 'vitest'
import type { Answer } from './documented/answer.js'
import { follow } from './documented/eventsource-parser.js'
import { ask } from './documented/fetch-event-source.js'
import { bytesOf, fakeFetch, problem, type Run, script, streamed } from './server.js'

const first: Run = { deltas: ['こ', 'んに', 'ちは🧵', '\n\nid: 9-9\n', '終'] }
const second: Run = { deltas: ['新しい', '答え'] }
const clients: Record<string, () => Promise<Answer>> = {
  'fetch-event-source': () => ask('http://t.example/v1/message/stream', 'token', '{"request_id":"r"}'),
  'eventsource-parser': () => follow('http://t.example/v1/message/a/stream', 'token'),
}

/** The offset after `retry: 1`. A client that is disconnected before it waits longer. */
const afterRetryField = 10

afterEach(() => void vi.unstubAllGlobals())

function serve(...answer: Parameters<typeof fakeFetch>): ReturnType<typeof fakeFetch>['calls'] {
  const { fetch, calls } = fakeFetch(...answer)
  vi.stubGlobal('fetch', fetch)
  // fetch-event-source listens to the page's visibility, and waits with the window's timers.
  vi.stubGlobal('document', { hidden: false, addEventListener() {}, removeEventListener() {} })
  vi.stubGlobal('window', globalThis)
  return calls
}

describe.each(Object.entries(clients))('%s, with the code of docs/streaming.md', (_, client) => {
  it.each([false, true])(
    'ends with the stored text, disconnected at any byte (id first: %s)',
    async (idFirst) => {
      for (let cut = afterRetryField; cut < bytesOf(script(1, first, null, idFirst)).length; cut++) {
        const calls = serve((call, index) => {
          const bytes = bytesOf(script(1, first, call.headers.get('last-event-id'), idFirst))
          return index === 0 ? streamed(bytes.slice(0, cut), 'break') : streamed(bytes)
        })
        expect((await client()).text, `cut at ${cut}`).toBe(first.deltas.join(''))
        expect(calls.length).toBeLessThanOrEqual(2)
      }
    },
  )

  it('never mixes two runs, both disconnected at any byte', async () => {
    const length = bytesOf(script(1, first, null)).length - 16
    for (let cut = afterRetryField; cut < length; cut++) {
      serve((call, index) => {
        const cursor = call.headers.get('last-event-id')
        if (index === 0) return streamed(bytesOf(script(1, first, null)).slice(0, cut), 'break')
        const bytes = bytesOf(script(2, second, cursor))
        const again = afterRetryField + ((cut * 7919) % (bytes.length - 16 - afterRetryField))
        return index === 1 ? streamed(bytes.slice(0, again), 'break') : streamed(bytes)
      })
      expect((await client()).text, `cut at ${cut}`).toBe('新しい答え')
    }
  })

  it('keeps the text that a later run continues, disconnected at any byte', async () => {
    const rest: Run = { deltas: [...first.deltas, 'の続き'] }
    const whole = script(1, first, null)
    for (let cut = afterRetryField; cut < bytesOf(whole.slice(0, whole.indexOf('text-end'))).length; cut++) {
      serve((call, index) =>
        index === 0
          ? streamed(bytesOf(whole).slice(0, cut), 'break')
          : streamed(bytesOf(script(2, rest, call.headers.get('last-event-id'), false, 1))),
      )
      expect((await client()).text, `cut at ${cut}`).toBe(rest.deltas.join(''))
    }
  })

  it('throws the detail of a refusal', async () => {
    serve(() => problem(404, { code: 'not_found', detail: '見つかりません。' }))
    await expect(client()).rejects.toThrow('見つかりません。')
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
