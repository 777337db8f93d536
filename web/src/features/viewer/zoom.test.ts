import { describe, expect, it } from 'vitest'
import { widthFor } from './pictures'
import { stepZoom, wheelZoom, wholeZoom } from './zoom'

describe('the zoom', () => {
  it('changes by steps from any value', () => {
    expect(stepZoom(1, true)).toBe(1.25)
    expect(stepZoom(1, false)).toBe(0.75)
    expect(stepZoom(0.62, true)).toBe(0.75)
    expect(stepZoom(4, true)).toBe(4)
    expect(stepZoom(0.5, false)).toBe(0.5)
  })

  it('follows the wheel within its bounds', () => {
    expect(wheelZoom(1, 0)).toBe(1)
    expect(wheelZoom(1, -100)).toBeGreaterThan(1)
    expect(wheelZoom(1, -10_000)).toBe(4)
    expect(wheelZoom(1, 10_000)).toBe(0.5)
  })

  it('shows a whole page, and never larger than the panel', () => {
    expect(wholeZoom(0.7, 700, 500)).toBe(0.5)
    expect(wholeZoom(2, 700, 500)).toBe(1)
    expect(wholeZoom(0.7, 0, 0)).toBe(1)
  })
})

describe('the picture of a page', () => {
  it('is loaded in few widths, up to the server’s maximum', () => {
    expect(widthFor(390, 1)).toBe(400)
    expect(widthFor(470, 1)).toBe(600)
    expect(widthFor(470, 2)).toBe(1000)
    expect(widthFor(470, 3)).toBe(1000)
    expect(widthFor(3000, 2)).toBe(2000)
  })
})
