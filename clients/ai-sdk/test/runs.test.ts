import type { UIMessage } from 'ai'
import { describe, expect, it } from 'vitest'
import { textOf } from './chat.js'
import { atEachByte, bytesOf, script, streamed } from './server.js'
import { afterRetryField, cursorOf, first, knowsReset, second, setUp, textOfRun, whole } from './setup.js'

/** The calls of tools in the last message, with their states. */
function callsOf(chat: { lastMessage: UIMessage | undefined }): string[] {
  return (chat.lastMessage?.parts ?? []).flatMap((part) =>
    part.type === 'dynamic-tool' ? [`${part.toolCallId} ${part.state}`] : [],
  )
}

describe('a new run', () => {
  it('replaces the text of the old run, disconnected at every byte', async () => {
    const length = bytesOf(script(1, first, null)).length
    await atEachByte(afterRetryField, length - 16, async (cut) => {
      const { chat } = setUp((call, index) =>
        index === 0
          ? streamed(bytesOf(script(1, first, null)).slice(0, cut), 'break')
          : whole(call, second, 2),
      )
      await chat.sendMessage({ text: '質問' })
      if (chat.status === 'error') {
        // AI SDK 6 has no chunk that resets a message, so the chat gets an error and must resume.
        expect(knowsReset).toBe(false)
        expect(chat.error).toMatchObject({ code: 'answer_restarted', retryable: true })
        await chat.resumeStream()
      }
      expect(chat.status, `cut at ${cut}`).toBe('ready')
      expect(chat.messages).toHaveLength(2)
      expect(textOf(chat.lastMessage), `cut at ${cut}`).toBe(textOfRun(second))
      expect(chat.lastMessage?.metadata).toMatchObject({ run: 2 })
      if (knowsReset)
        expect(
          chat.lastMessage?.parts.filter((part) => part.type === 'source-document'),
          `cut at ${cut}`,
        ).toMatchObject([{ sourceId: 'source-2' }])
    })
  })

  it('that continues the old run keeps its text and its calls of tools, disconnected at every byte', async () => {
    const rest = { deltas: [...first.deltas, 'の続き'], tools: ['a', 'b', 'c'] }
    const old = script(1, { ...first, tools: ['a', 'b'] }, null)
    const length = bytesOf(old.slice(0, old.indexOf('text-end'))).length
    const shown = bytesOf(old.slice(0, old.indexOf('\n\n', old.indexOf('text-delta')) + 2)).length
    await atEachByte(shown, length, async (cut) => {
      const { chat, calls } = setUp((call, index) => {
        if (index === 0) return streamed(bytesOf(old).slice(0, cut), 'break')
        return streamed(bytesOf(script(2, rest, cursorOf(call), false, 1)))
      })
      await chat.sendMessage({ text: '質問' })
      expect(chat.status, `cut at ${cut}`).toBe('ready')
      expect(textOf(chat.lastMessage), `cut at ${cut}`).toBe(textOfRun(rest))
      expect(callsOf(chat), `cut at ${cut}`).toEqual(['a', 'b', 'c'].map((id) => `${id} output-available`))
      expect(calls.length, `cut at ${cut}`).toBeLessThanOrEqual(2)
    })
  })

  it('has each step once, disconnected at every byte, also while a later step begins', async () => {
    const run = { ...first, tools: ['a'], steps: true }
    const early = { deltas: first.deltas.slice(0, 2) } // Before the model calls a tool.
    const begun = script(1, early, null).replace(
      'data: {"type":"reasoning-start"',
      'data: {"type":"start-step","step":0}\n\n$&',
    )
    for (const [old, from] of [
      [script(1, run, null), afterRetryField],
      [begun.slice(0, begun.indexOf('data: {"type":"data-citations"')), begun.indexOf('text-start')],
    ] as const) {
      const length = bytesOf(old).length
      await atEachByte(bytesOf(old.slice(0, from)).length, length, async (cut) => {
        const { chat } = setUp((call, index) =>
          index === 0
            ? streamed(bytesOf(old).slice(0, cut), 'break')
            : streamed(bytesOf(script(1, run, cursorOf(call)))),
        )
        await chat.sendMessage({ text: '質問' })
        expect(chat.status, `cut at ${cut}`).toBe('ready')
        expect(textOf(chat.lastMessage), `cut at ${cut}`).toBe(textOfRun(run))
        expect(callsOf(chat), `cut at ${cut}`).toEqual(['a output-available'])
        const steps = chat.lastMessage?.parts.filter((part) => part.type === 'step-start')
        expect(steps, `cut at ${cut}`).toHaveLength(2)
      })
    }
  })

  it('withdraws unfinished calls that the new run has not, disconnected at every byte', async () => {
    const run = { ...first, tools: ['a'], steps: true }
    const begun = script(1, { ...run, written: ['a', 'gone'] }, null)
    const from = begun.indexOf('data: {"type":"tool-input-start"')
    const to = begun.indexOf('data: {"type":"tool-input-available"')
    await atEachByte(
      bytesOf(begun.slice(0, from)).length,
      bytesOf(begun.slice(0, to)).length,
      async (cut) => {
        const received = new TextDecoder().decode(bytesOf(begun).slice(0, cut))
        const { chat } = setUp((call, index) =>
          index === 0
            ? streamed(bytesOf(begun).slice(0, cut), 'break')
            : streamed(bytesOf(script(2, { ...run, written: ['a'] }, cursorOf(call), false, 1))),
        )
        await chat.sendMessage({ text: '質問' })
        expect(chat.status, `cut at ${cut}`).toBe('ready')
        expect(textOf(chat.lastMessage), `cut at ${cut}`).toBe(textOfRun(run))
        const known = !knowsReset && /"tool-input-start","toolCallId":"gone".*\n\n/.test(received)
        expect(callsOf(chat), `cut at ${cut}`).toEqual([
          'a output-available',
          ...(known ? ['gone output-error'] : []),
        ])
      },
    )
  })

  it('keeps a call once while its input is written, disconnected at every byte of the input', async () => {
    const run = { ...first, tools: ['a'], steps: true }
    const begun = script(1, { ...run, written: ['a'] }, null)
    const from = begun.indexOf('data: {"type":"tool-input-start"')
    const to = begun.indexOf('data: {"type":"tool-output-available"')
    await atEachByte(
      bytesOf(begun.slice(0, from)).length,
      bytesOf(begun.slice(0, to)).length,
      async (cut) => {
        const complete = new TextDecoder()
          .decode(bytesOf(begun).slice(0, cut))
          .includes('"tool-input-available"')
        const { chat } = setUp((call, index) =>
          index === 0
            ? streamed(bytesOf(begun).slice(0, cut), 'break')
            : streamed(bytesOf(script(1, complete ? run : { ...run, written: ['a'] }, cursorOf(call)))),
        )
        await chat.sendMessage({ text: '質問' })
        expect(chat.status, `cut at ${cut}`).toBe('ready')
        expect(textOf(chat.lastMessage), `cut at ${cut}`).toBe(textOfRun(run))
        expect(callsOf(chat), `cut at ${cut}`).toEqual(['a output-available'])
      },
    )
  })

  it('is followed through three runs, the second one disconnected at every byte', async () => {
    if (!knowsReset) return
    const old = bytesOf(script(1, first, null)).slice(0, -40)
    const length = bytesOf(script(2, second, '1-3')).length
    await atEachByte(afterRetryField, length - 16, async (cut) => {
      const { chat } = setUp((call, index) => {
        if (index === 0) return streamed(old, 'break')
        if (index === 1) return streamed(bytesOf(script(2, second, cursorOf(call))).slice(0, cut), 'break')
        return whole(call, { deltas: ['三度目'] }, 3)
      })
      await chat.sendMessage({ text: '質問' })
      expect(textOf(chat.lastMessage), `cut at ${cut}`).toBe('三度目')
    })
  })
})
