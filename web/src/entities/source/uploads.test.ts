import { beforeEach, describe, expect, it, vi } from 'vitest'
import { ApiError } from '@/lib/api'
import type { Uploaded } from '@/lib/api/dataSources'
import { refusalReason } from './files'
import { texts } from './texts'
import { askBeforeLeaving, type UploadDeps, UploadQueue } from './uploads'

const file = (name: string, content = 'a') => new File(content === '' ? [] : [content], name)

/** setup returns a queue whose server the test controls. */
function setup() {
  const sent: {
    name: string
    signal: AbortSignal
    progress: (part: number) => void
    done: (uploaded?: Partial<Uploaded>) => void
    fail: (cause: unknown) => void
  }[] = []
  const onSent = vi.fn<UploadDeps<Uploaded>['onSent']>()
  const queue = new UploadQueue({
    send: ({ name }, { onProgress, signal }) =>
      new Promise((resolve, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason))
        const done = () => resolve({ source: { filename: name }, isNew: true } as Uploaded)
        sent.push({ name, signal, progress: onProgress, done, fail: reject })
      }),
    onSent,
    refusalReason,
  })
  const names = () => sent.map(({ name }) => name)
  const states = () => queue.uploads.map(({ file: { name }, state }) => `${name} ${state}`)
  const at = (index: number) => {
    const one = sent[index]
    if (one === undefined) throw new Error('it was not sent')
    return one
  }
  return { queue, onSent, names, states, at }
}

/** settle waits until responses are processed. */
const settle = () => new Promise((resolve) => setTimeout(resolve))

describe('the uploads', () => {
  it('are sent two at a time, in order', async () => {
    const { queue, names, states, at, onSent } = setup()
    queue.add([file('1.md'), file('2.md'), file('3.md'), file('4.md')])
    expect(names()).toEqual(['1.md', '2.md'])
    expect(states()).toEqual(['1.md sending', '2.md sending', '3.md waiting', '4.md waiting'])
    at(1).done()
    await settle()
    expect(states()).toEqual(['1.md sending', '3.md sending', '4.md waiting'])
    expect(onSent.mock.calls.map(([{ source }]) => source.filename)).toEqual(['2.md'])
    at(0).done()
    at(2).done()
    await settle()
    at(3).done()
    await settle()
    expect(queue.uploads).toEqual([])
    expect(names()).toEqual(['1.md', '2.md', '3.md', '4.md'])
  })

  it('report their progress once for each percent', () => {
    const { queue, at } = setup()
    queue.add([file('1.md')])
    const listener = vi.fn()
    queue.subscribe(listener)
    for (const part of [0.001, 0.341, 0.349, 0.35]) at(0).progress(part)
    expect(queue.uploads[0]?.percent).toBe(35)
    expect(listener).toHaveBeenCalledTimes(2)
  })

  it('that the server would refuse are not sent, and have a reason', () => {
    const { queue, names, states } = setup()
    queue.add([file('図面.dwg'), file('空.md', ''), file('1.md')])
    expect(states()).toEqual(['図面.dwg failed', '空.md failed', '1.md sending'])
    expect(queue.uploads.map(({ reason, again }) => [reason, again])).toEqual([
      [texts.refused.kind, false],
      [texts.refused.empty, false],
      ['', false],
    ])
    expect(names()).toEqual(['1.md'])
  })

  it('that are canceled let the next one start, and ignore a later response', async () => {
    const { queue, names, states, at, onSent } = setup()
    queue.add([file('1.md'), file('2.md'), file('3.md'), file('4.md')])
    const [first, , third] = queue.uploads
    queue.remove(third?.id ?? 0)
    queue.remove(first?.id ?? 0)
    expect(at(0).signal.aborted).toBe(true)
    at(0).progress(0.5)
    await settle()
    expect(states()).toEqual(['2.md sending', '4.md sending'])
    expect(names()).toEqual(['1.md', '2.md', '4.md'])
    expect(onSent).not.toHaveBeenCalled()
  })

  it('wait while the server has too many of them, and are then sent again in order', async () => {
    vi.useFakeTimers()
    const { queue, names, states, at } = setup()
    queue.add([file('1.md'), file('2.md'), file('3.md')])
    at(0).fail(new ApiError(429, { code: 'rate_limited' }))
    at(1).done()
    await vi.advanceTimersByTimeAsync(1000)
    expect(states()).toEqual(['1.md waiting', '3.md waiting'])
    expect(names()).toEqual(['1.md', '2.md'])
    await vi.advanceTimersByTimeAsync(10_000)
    expect(names()).toEqual(['1.md', '2.md', '1.md', '3.md'])
    vi.useRealTimers()
  })

  it('that failed keep their reason, let the next one start, and can be retried or removed', async () => {
    const { queue, names, states, at } = setup()
    queue.add([file('1.md'), file('2.md'), file('3.md')])
    at(0).progress(0.5)
    at(0).fail(new ApiError(507, { detail: '保存する場所がありません。', code: 'storage_full' }))
    at(1).fail(new ApiError(415, { detail: '読み取れない種類です。' }))
    await settle()
    expect(states()).toEqual(['1.md failed', '2.md failed', '3.md sending'])
    expect(queue.uploads).toMatchObject([
      { reason: '保存する場所がありません。', again: true },
      { reason: '読み取れない種類です。', again: false },
      {},
    ])
    const [first, second] = queue.uploads
    queue.retry(first?.id ?? 0)
    expect(queue.uploads[0]).toMatchObject({ state: 'sending', percent: 0, reason: '' })
    queue.remove(second?.id ?? 0)
    expect(states()).toEqual(['1.md sending', '3.md sending'])
    expect(names()).toEqual(['1.md', '2.md', '3.md', '1.md'])
  })

  it('whose file was moved have that as their reason', async () => {
    const { queue, at } = setup()
    const moved = file('1.md')
    moved.slice = () =>
      ({ arrayBuffer: () => Promise.reject(new DOMException('', 'NotReadableError')) }) as Blob
    queue.add([moved])
    at(0).fail(new ApiError(0, { detail: 'サーバーに接続できませんでした。' }))
    await settle()
    expect(queue.uploads[0]).toMatchObject({ reason: texts.refused.unreadable, again: false })
  })

  it('that fail without a reason from the server still have a reason', async () => {
    const { queue, at } = setup()
    queue.add([file('1.md')])
    at(0).fail(new Error('defect'))
    await settle()
    expect(queue.uploads[0]).toMatchObject({ reason: texts.uploadFailed, again: true })
  })
})

describe('closing the tab', () => {
  let tab: Window
  const leave = () => {
    const event = new Event('beforeunload', { cancelable: true })
    tab.dispatchEvent(event)
    return event.defaultPrevented
  }

  beforeEach(() => {
    tab = new EventTarget() as Window
  })

  it('needs confirmation while an upload is pending and the user is signed in', () => {
    const { queue } = setup()
    let signedIn = true
    askBeforeLeaving(queue, tab, () => signedIn)
    expect(leave()).toBe(false)
    queue.add([file('1.md'), file('図面.dwg')])
    expect(leave()).toBe(true)
    signedIn = false
    expect(leave()).toBe(false)
  })

  it('needs no confirmation after all uploads are sent or failed', async () => {
    const { queue, at } = setup()
    askBeforeLeaving(queue, tab, () => true)
    queue.add([file('1.md'), file('2.md')])
    at(0).done()
    at(1).fail(new ApiError(500, {}))
    await settle()
    expect(queue.uploads).toHaveLength(1)
    expect(leave()).toBe(false)
  })

  it('needs no confirmation after the uploads are no longer followed', () => {
    const { queue } = setup()
    const stop = askBeforeLeaving(queue, tab, () => true)
    queue.add([file('1.md')])
    stop()
    expect(leave()).toBe(false)
  })
})
