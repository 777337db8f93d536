import { beforeEach, describe, expect, it, vi } from 'vitest'
import { Ime, ime, isEnter } from './ime'

describe('the input method guard', () => {
  beforeEach(() => void vi.useFakeTimers())

  it.each([
    ['the standard sign', { isComposing: true }],
    ["React's event", { nativeEvent: { isComposing: true } }],
    ['key code 229, as Safari sends it', { isComposing: false, keyCode: 229 }],
  ])('recognizes a composing key by %s', (_, event) => {
    expect(new Ime().isComposing(event)).toBe(true)
  })

  it('accepts other keys', () => {
    expect(new Ime().isComposing({ isComposing: false, keyCode: 13 })).toBe(false)
  })

  it('ignores a plain Enter in the tick in which a composition ended', () => {
    const guard = new Ime()
    const stop = guard.watch(document)
    document.body.dispatchEvent(new CompositionEvent('compositionend', { bubbles: true }))
    expect(guard.isComposing({ isComposing: false, keyCode: 13 })).toBe(true)
    vi.runAllTimers()
    expect(guard.isComposing({ isComposing: false, keyCode: 13 })).toBe(false)
    stop()
    document.body.dispatchEvent(new CompositionEvent('compositionend', { bubbles: true }))
    expect(guard.isComposing({ isComposing: false, keyCode: 13 })).toBe(false)
  })
})

describe('an Enter that submits', () => {
  it('is neither a line break nor the end of a conversion', () => {
    expect(isEnter({ key: 'Enter', shiftKey: false, keyCode: 13 })).toBe(true)
    expect(isEnter({ key: 'Enter', shiftKey: true, keyCode: 13 })).toBe(false)
    expect(isEnter({ key: 'Enter', keyCode: 229 })).toBe(false)
    expect(isEnter({ key: 'Enter', isComposing: true })).toBe(false)
    expect(isEnter({ key: 'a', keyCode: 65 })).toBe(false)
    expect(ime.isComposing({ keyCode: 13 })).toBe(false)
  })
})
