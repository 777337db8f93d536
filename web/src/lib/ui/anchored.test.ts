import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { keepBeside } from './anchored'

/** An element with a fixed bounding box, independent of its styles. */
function element(left: number, top: number, width: number, height: number): HTMLElement {
  const one = document.body.appendChild(document.createElement('div'))
  vi.spyOn(one, 'getBoundingClientRect').mockReturnValue(new DOMRect(left, top, width, height))
  vi.spyOn(one, 'offsetWidth', 'get').mockReturnValue(width)
  vi.spyOn(one, 'offsetHeight', 'get').mockReturnValue(height)
  return one
}

describe('a floating box', () => {
  beforeEach(() => {
    vi.spyOn(document.documentElement, 'clientWidth', 'get').mockReturnValue(800)
    vi.spyOn(document.documentElement, 'clientHeight', 'get').mockReturnValue(600)
  })

  afterEach(() => document.body.replaceChildren())

  const place = (box: HTMLElement) => [box.style.left, box.style.top, box.style.getPropertyValue('--room')]

  it.each([
    ['below, ends in line', 700, 10, 'bottom', 'end', ['540px', '46px', '546px']],
    ['below, beginnings in line', 300, 10, 'bottom', 'start', ['300px', '46px', '546px']],
    ['in the middle', 300, 10, 'bottom', 'center', ['220px', '46px', '546px']],
    ['above, where there is more room', 300, 500, 'bottom', 'start', ['300px', '394px', '486px']],
    ['beside', 300, 300, 'right', 'center', ['346px', '265px', '446px']],
    ['never out of the window', 20, 10, 'bottom', 'end', ['8px', '46px', '546px']],
    ['never out of the window on the other side', 750, 10, 'bottom', 'start', ['592px', '46px', '546px']],
  ] as const)('stands %s', (_, left, top, side, align, expected) => {
    const box = element(0, 0, 200, 100)
    const stop = keepBeside(box, element(left, top, 40, 30), side, align)
    expect(place(box)).toEqual(expected)
    stop()
  })

  it('has the right position in a dialog with another origin', () => {
    const box = element(50, 60, 200, 100)
    keepBeside(box, element(300, 10, 40, 30), 'bottom', 'start')()
    expect(box.style.left).toBe('250px')
    expect(box.style.top).toBe('-14px')
  })

  it('reports that its anchor was removed', () => {
    const gone = vi.fn()
    const anchor = element(0, 0, 40, 30)
    const stop = keepBeside(element(0, 0, 20, 20), anchor, 'bottom', 'start', gone)
    anchor.remove()
    window.dispatchEvent(new Event('resize'))
    expect(gone).toHaveBeenCalledOnce()
    stop()
  })
})
