import { expect, it } from 'vitest'
import { readEvents, type ServerEvent } from '../src/events.js'
import { bytesOf } from './server.js'

async function read(bytes: Uint8Array, piece: number): Promise<ServerEvent[]> {
  const events: ServerEvent[] = []
  const pieces = Array.from({ length: Math.ceil(bytes.length / piece) }, (_, i) =>
    bytes.slice(i * piece, (i + 1) * piece),
  )
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      const next = pieces.shift()
      if (next) controller.enqueue(next)
      else controller.close()
    },
  })
  for await (const event of readEvents(body)) events.push(event)
  return events
}

const none = { id: undefined, retry: undefined }
const lines = [
  '\uFEFFretry: 1500', // With a byte order mark.
  '',
  ': a heartbeat',
  '',
  'data: 一',
  'id: 1-3',
  '',
  'data:two', // The space is optional, and only one is removed.
  'data:  lines',
  'event: ignored',
  '',
  'id: 1-9', // An event without data is dropped, together with its id.
  '',
  'data', // A field without a colon is empty.
  '',
  'data: x\0',
  'id: 1\0',
  'retry: soon',
  '',
  'data: cut off',
  'id: 1-99',
]
const want: ServerEvent[] = [
  { ...none, data: '', retry: 1500 },
  { ...none, data: '一', id: '1-3' },
  { ...none, data: 'two\n lines' },
  { ...none, data: '' },
  { ...none, data: 'x\0' },
]

it.each(['\n', '\r\n', '\r'])(
  'reads events in pieces of any size, with lines that end in %j',
  async (lineEnd) => {
    const bytes = bytesOf(`${lines.join(lineEnd)}${lineEnd}`)
    for (let piece = 1; piece <= bytes.length; piece++)
      expect(await read(bytes, piece), `${piece}`).toEqual(want)
  },
)
