import { asSchema, uiMessageChunkSchema } from 'ai'
import { TsumugiChatTransport } from '../src/index.js'
import { Chat } from './chat.js'
import { bytesOf, type Call, fakeFetch, ids, type Run, script, streamed } from './server.js'

export const first: Run = { deltas: ['こ', 'んに', 'ちは🧵', '\n\nid: 9-9\n'] }
export const second: Run = { deltas: ['新しい', '答え'] }
export const textOfRun = (run: Run) => run.deltas.join('')

/** The offset after `retry: 1`. A client that is disconnected before it waits for 1.8 s. */
export const afterRetryField = 10

export const knowsReset =
  (await asSchema(uiMessageChunkSchema).validate?.({ type: 'reset-step' }))?.success === true

export interface Setup {
  readonly chat: Chat
  readonly transport: TsumugiChatTransport
  readonly calls: Call[]
}

export function setUp(answer: (call: Call, index: number) => Response | Promise<Response>): Setup {
  const { fetch, calls } = fakeFetch(answer)
  const transport = new TsumugiChatTransport({ server: 'https://t.example/', token: () => 'token', fetch })
  const chat = new Chat({ id: ids.thread, transport })
  return { chat, transport, calls }
}

export const cursorOf = (call: Call) => call.headers.get('last-event-id')
export const whole = (call: Call, run = first, number = 1) =>
  streamed(bytesOf(script(number, run, cursorOf(call))))
