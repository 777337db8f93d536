import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  parseJsonEventStream,
  readUIMessageStream,
  type UIMessage,
  type UIMessageChunk,
  uiMessageChunkSchema,
} from 'ai'
import { goldenStreams } from './support/paths'
import { expect, test } from './support/test'

type Bytes = ReadableStream<Uint8Array<ArrayBuffer>>

interface Reading {
  readonly chunks: UIMessageChunk[]
  /** The final message, as assembled by the AI SDK's own reader. */
  readonly message: UIMessage | undefined
  readonly errors: string[]
}

/** Reads a stream with the `ai` package alone: its parser, its chunk schema, its message reader. */
async function read(body: Bytes): Promise<Reading> {
  const chunks: UIMessageChunk[] = []
  const errors: string[] = []
  const parsed = parseJsonEventStream({ stream: body, schema: uiMessageChunkSchema }).pipeThrough(
    new TransformStream<{ success: boolean; value?: UIMessageChunk; error?: unknown }, UIMessageChunk>({
      transform(result, controller) {
        if (!result.success || result.value === undefined) throw result.error
        chunks.push(result.value)
        controller.enqueue(result.value)
      },
    }),
  )
  let message: UIMessage | undefined
  for await (const state of readUIMessageStream({
    stream: parsed,
    onError: (error) => errors.push(String(error)),
  }))
    message = state
  return { chunks, message, errors }
}

const textOf = (message: UIMessage | undefined) =>
  (message?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')

const deltas = (chunks: readonly UIMessageChunk[]) =>
  chunks.map((chunk) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('')

test.describe("the AI SDK's own reader", () => {
  test('reads a live stream to the stored text', async ({ account, model, question }) => {
    // Slow enough for the title to arrive before the end, on a busy machine too.
    const directive = { chars: 1500, seed: 9, tokens_per_second: 100, title: '経費の精算' }
    model.script(question, directive)
    const thread = await account.newThread('汎用チャット')
    const response = await account.call('POST', '/v1/message/stream', {
      request_id: crypto.randomUUID(),
      thread_id: thread.id,
      content: question,
    })
    expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1')
    expect(response.headers.get('content-type')).toContain('text/event-stream')
    const { chunks, message, errors } = await read(response.body as Bytes)
    expect(errors).toEqual([])
    const stored = (await account.messages(thread.id)).at(-1)
    expect(textOf(message)).toBe(await model.text(directive))
    expect(textOf(message)).toBe(stored?.content)
    expect(message?.id).toBe(stored?.id)
    expect(message?.metadata).toMatchObject({
      thread_id: thread.id,
      run: expect.any(Number),
      usage: stored?.usage,
    })
    expect(chunks).toContainEqual({
      type: 'data-title',
      data: { title: '経費の精算', updated_at: expect.any(String) },
      transient: true,
    })
    expect(message?.parts.map((part) => part.type)).not.toContain('data-title')
    expect(chunks.at(-1)).toMatchObject({ type: 'finish', finishReason: 'stop' })
  })

  test('reads a failure as an error, with the partial text', async ({ account, model, question }) => {
    model.script(question, { text: '途中までの答えです。ここは届きません。', fail: 'error', fail_after: 10 })
    const thread = await account.newThread('汎用チャット')
    const response = await account.call('POST', '/v1/message/stream', {
      request_id: crypto.randomUUID(),
      thread_id: thread.id,
      content: question,
    })
    const { message, errors } = await read(response.body as Bytes)
    expect(errors).toHaveLength(1)
    expect(textOf(message)).toBe('途中までの答えです。')
  })

  test('reads every golden stream', async () => {
    const names = (await readdir(goldenStreams)).filter((name) => name.endsWith('.sse'))
    expect(names.length).toBeGreaterThanOrEqual(5)
    for (const name of names) {
      const bytes = await readFile(join(goldenStreams, name))
      const { chunks, message, errors } = await read(new Blob([bytes]).stream() as Bytes)
      expect(chunks[0]?.type, name).toBe('start')
      expect(['finish', 'abort', 'error'], name).toContain(chunks.at(-1)?.type)
      expect(errors, name).toHaveLength(chunks.at(-1)?.type === 'error' ? 1 : 0)
      expect(textOf(message), name).toBe(deltas(chunks))
      expect(deltas(chunks).length, name).toBeGreaterThan(0)
    }
  })
})
