import { describe, expect, it } from 'vitest'
import { channelsOf, wrongChannel } from './channels'

describe('channel ids', () => {
  it('are parsed from lines and other separators', () => {
    expect(channelsOf(' C0123ABCD\n\nc0456,Ｃ０７８９、C0123ABCD ')).toEqual(['C0123ABCD', 'C0456', 'C0789'])
    expect(channelsOf(' \n')).toEqual([])
  })
  it('are reported if invalid', () => {
    expect(wrongChannel('C0123ABCD\n#general')).toContain('#GENERAL')
    expect(wrongChannel('D0123ABCD')).toContain('D0123ABCD')
    expect(wrongChannel('')).toBeUndefined()
    expect(wrongChannel(Array.from({ length: 201 }, (_, i) => `C${1000 + i}`).join('\n'))).toContain('200')
  })
})
