import { describe, expect, it } from 'vitest'
import { type Answer, cursorOf, emptyAnswer, receive, type Verdict } from './answer'
import { utf8Length } from './cursor'
import { type Event, event, randomDeltas, randomText, script, seeded } from './testing'

function feed(events: readonly Event[], from: Answer = emptyAnswer): { answer: Answer; verdict: Verdict } {
  let state: { answer: Answer; verdict: Verdict } = { answer: from, verdict: 'continue' }
  for (const { id = '', data } of events) {
    state = receive(state.answer, { id, data })
    if (state.verdict !== 'continue') break
  }
  return state
}

describe('receive', () => {
  it('keeps the text that a later run continues', () => {
    const first = feed([event.start(1), event.delta(1, 3, '一')]).answer
    const second = feed([event.start(2), event.delta(2, 6, '二')], first)
    expect(second).toMatchObject({ verdict: 'continue', answer: { run: 2, text: '一二', rewriting: false } })
    const third = feed([event.start(3), event.finish(3, 6), event.done()], second.answer)
    expect(third).toMatchObject({ verdict: 'done', answer: { run: 3, text: '一二', done: true } })
    // Without an announcement, after a gap, and of another run than the announced one.
    expect(feed([event.delta(2, 6, '二')], first).verdict).toBe('resync')
    expect(feed([event.start(2), event.delta(2, 9, '三')], first).verdict).toBe('resync')
    expect(feed([event.start(2), event.delta(3, 6, '二')], first).verdict).toBe('resync')
    expect(feed([event.start(2), event.finish(2, 6)], first).verdict).toBe('resync')
  })

  it('accepts an answer from start to end', () => {
    const { answer, verdict } = feed(script(1, ['こん', 'にちは'], null))
    expect(verdict).toBe('done')
    expect(answer).toMatchObject({
      messageId: 'answer',
      userMessageId: 'question',
      threadId: 'thread',
      run: 1,
      text: 'こんにちは',
      bytes: 15,
      title: { text: '題', updatedAt: '2026-03-01T00:00:00Z' },
      done: true,
    })
    expect(answer.outcome).toEqual({
      kind: 'finished',
      reason: 'stop',
      usage: { inputTokens: 12, outputTokens: 34 },
    })
    expect(answer.steps).toEqual([
      { id: 'retrieval', kind: 'retrieval', status: 'success', detail: '', done: 0, total: 0 },
    ])
    expect(answer.sources).toEqual([
      {
        id: 'chunk',
        index: 1,
        title: '就業規則',
        filename: '就業規則.pdf',
        mediaType: 'application/pdf',
        page: 3,
        url: null,
        site: '',
        publishedOn: '',
        dataSourceId: 'file',
        locator: '第3章',
      },
    ])
  })

  it('accepts web pages, and only web addresses', () => {
    const page = (id: string, url: string): Event => ({
      data: JSON.stringify({
        type: 'source-url',
        sourceId: id,
        url,
        title: '最低賃金',
        index: 1,
        providerMetadata: { tsumugi: { index: 1, site: 'example.jp', published_on: '2026-09-01' } },
      }),
    })
    const { sources } = feed([
      event.start(1),
      page('a', 'https://example.jp/'),
      page('b', 'javascript:alert(1)'),
    ]).answer
    const known = {
      index: 1,
      title: '最低賃金',
      site: 'example.jp',
      publishedOn: '2026-09-01',
      dataSourceId: '',
    }
    expect(sources).toMatchObject([
      { ...known, id: 'a', url: 'https://example.jp/' },
      { ...known, id: 'b', url: null },
    ])
  })

  it('keeps the partial text of a stopped and of a failed answer', () => {
    const begun = [event.start(1), event.delta(1, 6, '途中')]
    expect(feed([...begun, event.abort(), event.done()]).answer).toMatchObject({
      text: '途中',
      outcome: { kind: 'stopped' },
    })
    expect(feed([...begun, event.error('llm_timeout'), event.done()]).answer).toMatchObject({
      text: '途中',
      outcome: { kind: 'failed', code: 'llm_timeout', message: '応答がありません。', retryable: true },
    })
  })

  it('reports that a later run replaces shown text, until its end', () => {
    const first = feed([event.start(1), event.delta(1, 3, '一')]).answer
    expect(first.rewriting).toBe(false)
    const second = feed([event.start(2), event.reset(2), event.delta(2, 3, '二')], first).answer
    expect(second).toMatchObject({ text: '二', rewriting: true })
    expect(feed([event.start(3), event.reset(3)], second).answer).toMatchObject({ text: '', rewriting: true })
    // As if the earlier text was discarded before the later run was announced.
    const lost = feed([event.delta(1, 9, '三')], first).answer
    expect(feed([event.start(2), event.delta(2, 3, '二')], lost).answer).toMatchObject({ rewriting: true })
    // A repeated run, and a run without any shown text, change nothing.
    expect(feed([event.start(1), event.reset(1)], first).answer.rewriting).toBe(false)
    expect(feed([event.start(1), event.delta(1, 3, '一')], lost).answer.rewriting).toBe(false)
    const unseen = feed([event.start(2), event.delta(2, 3, '二')], feed([event.start(1)]).answer).answer
    expect(unseen).toMatchObject({ text: '二', rewriting: false })
  })

  it('keeps the reasoning separate from the text and the cursor', () => {
    const thinking = [
      event.start(1),
      event.reasoningStart(0),
      event.reasoning('まず、'),
      event.reasoning('次に。'),
    ]
    const begun = feed(thinking).answer
    expect(begun).toMatchObject({ reasoning: 'まず、次に。', text: '', thinking: { durationMs: null } })
    expect(cursorOf(begun)).toBeNull()
    const ended = feed([event.reasoningEnd(12_000), event.delta(1, 6, '答え')], begun).answer
    expect(ended).toMatchObject({ reasoning: 'まず、次に。', text: '答え', thinking: { durationMs: 12_000 } })
    expect(cursorOf(ended)).toBe('1-6')
    // A client with some of the text is not notified again.
    const resumed = feed([event.start(1), event.delta(1, 9, 'だ')], ended).answer
    expect(resumed).toMatchObject({
      reasoning: 'まず、次に。',
      text: '答えだ',
      thinking: { durationMs: 12_000 },
    })
  })

  it('accepts the reasoning from its start without text, also for another run', () => {
    const cut = feed([event.start(1), event.reasoningStart(0), event.reasoning('まず、')]).answer
    const again = feed(
      [event.start(1), event.reasoningStart(5000), event.reasoning('まず、次に。')],
      cut,
    ).answer
    expect(again.reasoning).toBe('まず、次に。')
    expect(Date.now() - (again.thinking?.startedAt ?? 0)).toBeGreaterThanOrEqual(5000)
    const next = feed([event.start(2), event.delta(2, 6, '答え')], again).answer
    expect(next).toMatchObject({ reasoning: '', thinking: null, text: '答え' })
    const written = feed([
      event.start(1),
      event.reasoningStart(0),
      event.reasoning('考え'),
      event.delta(1, 3, '答'),
    ])
    const reset = feed([event.start(2), event.reset(2)], written.answer).answer
    expect(reset).toMatchObject({ reasoning: '', thinking: null, text: '' })
  })

  it('requests a resync and keeps the text if a delta leaves a gap', () => {
    const { answer, verdict } = feed([event.start(1), event.delta(1, 3, 'あ'), event.delta(1, 9, 'う')])
    expect(verdict).toBe('resync')
    expect(answer.text).toBe('あ')
    expect(cursorOf(answer)).toBeNull()
  })

  it('requests a resync if a delta overlaps, an id is missing, or a part is invalid', () => {
    const begun = [event.start(1), event.delta(1, 6, 'あい')]
    for (const odd of [
      event.delta(1, 9, 'いう'),
      { data: event.delta(1, 9, 'う').data },
      { data: '{"type":' },
      { data: '[]' },
      { data: '{"type":"text-delta"}' },
      { data: '{"type":"data-reset","data":{}}' },
    ]) {
      const { answer, verdict } = feed([...begun, odd])
      expect(verdict).toBe('resync')
      expect(answer.text).toBe('あい')
    }
  })

  it('starts over after a resync without joining texts', () => {
    const broken = feed([event.start(1), event.delta(1, 3, 'あ'), event.delta(1, 99, 'ん')]).answer
    const { answer, verdict } = feed(script(1, ['あ', 'いう'], null), broken)
    expect(verdict).toBe('done')
    expect(answer.text).toBe('あいう')
  })

  it('ignores repeated frames', () => {
    const a = event.delta(1, 3, 'あ')
    const b = event.delta(1, 6, 'い')
    const { answer, verdict } = feed([
      event.start(1),
      a,
      a,
      b,
      a,
      b,
      event.start(1),
      event.delta(1, 9, 'う'),
      event.finish(1, 9),
      event.done(),
    ])
    expect(verdict).toBe('done')
    expect(answer.text).toBe('あいう')
  })

  it('discards the text of an older run only after an announcement', () => {
    const first = feed([event.start(1), event.step('running'), event.delta(1, 6, '一回')]).answer
    const second = feed([event.start(2), event.reset(2), event.delta(2, 3, '二')], first).answer
    expect(second).toMatchObject({ run: 2, text: '二', bytes: 3, steps: [] })
    expect(feed([event.start(2), event.delta(2, 3, '二')], first)).toMatchObject({
      verdict: 'resync',
      answer: { text: '一回' },
    })
    // Remaining events of the first run arrive late after that.
    expect(feed([event.delta(1, 9, '目')], second)).toMatchObject({
      verdict: 'continue',
      answer: { text: '二' },
    })
  })

  it('does not trust an end with another length', () => {
    for (const offset of [0, 3, 9]) {
      const { verdict } = feed([event.start(1), event.delta(1, 6, 'あい'), event.finish(1, offset)])
      expect(verdict).toBe('resync')
    }
    expect(feed([event.start(1), event.delta(1, 6, 'あい'), event.done()]).verdict).toBe('resync')
  })

  it('accepts nothing after the end', () => {
    const { answer } = feed(script(1, ['終'], null))
    expect(receive(answer, { id: '1-6', data: event.delta(1, 6, '後').data }).answer).toBe(answer)
  })

  it('replaces steps and sources that are sent again', () => {
    const { answer } = feed([
      event.start(1),
      event.step('running'),
      event.source('a', 1),
      event.source('b', 2),
      event.start(1),
      event.step('success'),
      event.source('a', 1),
      event.source('b', 2),
    ])
    expect(answer.steps.map((step) => step.status)).toEqual(['success'])
    expect(answer.sources.map((source) => source.id)).toEqual(['a', 'b'])
  })

  it('has the calls that the model is writing until they are complete or withdrawn', () => {
    const begun = [
      event.start(1),
      event.delta(1, 3, 'あ'),
      event.toolStart('a'),
      event.toolDelta('a', '{"exp'),
      event.toolStart('b'),
    ]
    const { answer } = feed(begun)
    expect(answer.toolCalls).toMatchObject([
      { id: 'a', title: '計算', status: 'writing', arguments: '{"exp', offset: 3 },
      { id: 'b', status: 'writing', arguments: '' },
    ])
    // Another connection sends them from their start. A call of an abandoned run is not sent again.
    const again = [event.start(2), event.toolStart('a'), event.toolDelta('a', '{"expression":')]
    expect(feed(again, answer).answer.toolCalls).toMatchObject([
      { id: 'a', status: 'writing', arguments: '{"expression":' },
    ])
    const complete = feed([event.toolCall('a'), event.toolWithdrawn('b'), event.toolWithdrawn('a')], answer)
    expect(complete.answer.toolCalls).toMatchObject([
      { id: 'a', status: 'running', arguments: '{"expression":"1+2"}' },
    ])
    expect(feed([event.finish(1, 3)], answer).answer.toolCalls).toEqual([])
  })

  it('has each call of a tool once, with its result', () => {
    const calls = [
      event.toolCall('a'),
      event.toolCall('b'),
      event.toolResult('a', { output: '3' }),
      event.toolResult('b', { errorText: '失敗' }),
    ]
    const { answer } = feed([event.start(1), ...calls, event.start(1), ...calls, event.toolCall('c')])
    const call = {
      name: 'calculate',
      title: '計算',
      arguments: '{"expression":"1+2"}',
      offset: 3,
      approval: null,
    }
    expect(answer.toolCalls).toEqual([
      { ...call, id: 'a', status: 'success', result: '3', error: '' },
      { ...call, id: 'b', status: 'failed', result: '', error: '失敗' },
      { ...call, id: 'c', status: 'running', result: '', error: '' },
    ])
    expect(feed([event.start(2), event.reset(2)], answer).answer.toolCalls).toEqual([])
  })

  it('has the decision about a call, and the arguments that the person has changed', () => {
    const waiting = (state: string): Event => ({
      data: JSON.stringify({
        type: 'data-tool-approval',
        data: {
          id: 'p',
          tool_call_id: 'a',
          state,
          expires_at: '2026-11-29T00:00:00Z',
          reason: state === 'denied' ? '違う' : '',
        },
      }),
    })
    const request = {
      data: JSON.stringify({ type: 'tool-approval-request', approvalId: 'p', toolCallId: 'a' }),
    }
    const begun = [event.start(1), event.toolCall('a'), request, waiting('waiting')]
    const { answer } = feed(begun)
    expect(answer.toolCalls).toMatchObject([{ status: 'running', approval: { id: 'p', state: 'waiting' } }])
    const edited = {
      data: JSON.stringify({
        type: 'tool-input-available',
        toolCallId: 'a',
        toolName: 'calculate',
        input: { expression: '1+3' },
      }),
    }
    expect(
      feed([edited, request, waiting('approved'), event.toolResult('a', { output: '4' })], answer).answer
        .toolCalls,
    ).toMatchObject([
      { status: 'success', result: '4', arguments: '{"expression":"1+3"}', approval: { state: 'approved' } },
    ])
    const denied = { data: JSON.stringify({ type: 'tool-output-denied', toolCallId: 'a' }) }
    expect(feed([waiting('denied'), denied], answer).answer.toolCalls).toMatchObject([
      { status: 'denied', approval: { state: 'denied', reason: '違う' } },
    ])
  })

  it('marks calls that the program that asked makes', () => {
    const returned = { type: 'tool-input-available', toolCallId: 'a', toolName: 'f', providerExecuted: false }
    const { answer } = feed([event.start(1), { data: JSON.stringify(returned) }])
    expect(answer.toolCalls).toMatchObject([{ id: 'a', title: 'f', status: 'returned' }])
  })

  it('discards them at a reset, and if a later run begins before any text', () => {
    const cited = { index: 1, chunk_embedding_id: 'a', data_source_id: 'file', filename: '規則.pdf', page: 3 }
    const before = [event.start(1), event.step('running'), event.source('a', 1), event.citations(cited)]
    const nothing = { steps: [], sources: [], citations: null }
    expect(feed([...before, event.start(2)]).answer).toMatchObject(nothing)
    const written = feed([...before, event.delta(1, 3, '一')]).answer
    expect(feed([event.start(1)], written).answer.sources).toHaveLength(1)
    expect(feed([event.start(2), event.reset(2)], written).answer).toMatchObject(nothing)
  })

  it('accepts the valid results of the answer’s check', () => {
    const cited = {
      index: 1,
      chunk_embedding_id: 'a',
      data_source_id: 'file',
      filename: '規則.pdf',
      page: 3,
      locator: '第3章',
      score: 4.2,
      quote: '年次有給休暇は…',
      support: 'weak',
      weak_occurrences: [1, 3],
    }
    const { answer } = feed([
      event.start(1),
      event.citations(cited, { index: 2 }, { ...cited, support: 'x' }),
    ])
    const known = {
      index: 1,
      passageId: 'a',
      dataSourceId: 'file',
      filename: '規則.pdf',
      page: 3,
      locator: '第3章',
      score: 4.2,
      quote: '年次有給休暇は…',
      support: 'weak',
      weakOccurrences: [1, 3],
      deleted: false,
      url: null,
      site: '',
      publishedOn: '',
    }
    expect(answer.citations).toEqual([known, { ...known, support: null }])
    expect(feed([event.start(1), event.other('data-citations')]).answer.citations).toBeNull()
  })

  it('ignores unknown parts, and names of the prototype', () => {
    for (const type of ['reasoning-delta', 'constructor', '__proto__', 'toString']) {
      expect(feed([event.start(1), event.other(type)]).verdict).toBe('continue')
    }
  })
})

describe('R05 R07: any cut, any chunking, any disorder', { timeout: 60_000 }, () => {
  it('ends with exactly the text, and never shows anything but a prefix of it', () => {
    for (let seed = 1; seed <= 300; seed++) {
      const random = seeded(seed)
      const text = randomText(random, 1 + Math.floor(random() * 120))
      const deltas = randomDeltas(random, text, 6)
      let answer = emptyAnswer
      for (let connection = 0; !answer.done; connection++) {
        const events = disorder(random, script(1, deltas, cursorOf(answer)), connection < 6)
        for (const { id = '', data } of events) {
          const received = receive(answer, { id, data })
          answer = received.answer
          expect(text.startsWith(answer.text), `seed ${seed}`).toBe(true)
          expect(answer.bytes).toBe(utf8Length(answer.text))
          if (received.verdict !== 'continue') break
        }
        expect(connection, `seed ${seed}`).toBeLessThan(20)
      }
      expect(answer.text, `seed ${seed}`).toBe(text)
    }
  })
})

/** Truncates the events, and repeats, delays or drops some of them. */
function disorder(random: () => number, events: Event[], faulty: boolean): Event[] {
  if (!faulty) return events
  const cut = events.slice(0, 1 + Math.floor(random() * events.length))
  const out: Event[] = []
  for (const item of cut) {
    const dice = random()
    if (dice < 0.03) continue
    out.push(item)
    if (dice > 0.9) out.push(item)
    const earlier = out[Math.floor(random() * out.length)]
    if (dice > 0.85 && dice < 0.9 && earlier?.data.includes('text-delta')) out.push(earlier)
  }
  return out
}
