import { describe, expect, it } from 'vitest'
import { toCsv, toTsv } from './grid'

describe('a table for spreadsheets', () => {
  const grid = [
    ['部署', '備考'],
    ['営業"部"', '一行目\n二行目, 続き'],
  ]

  it('is CSV that Excel reads as UTF-8', () => {
    expect(toCsv(grid)).toBe('\ufeff部署,備考\r\n"営業""部""","一行目\n二行目, 続き"\r\n')
  })

  it('is TSV with a line for each row', () => {
    expect(toTsv(grid)).toBe('部署\t備考\n営業"部"\t一行目 二行目, 続き')
  })

  it.each(['=HYPERLINK("https://evil.example")', '@SUM(A1)', '+cmd|x', "-2+3+cmd|' /C calc'!A0", ' =1+1'])(
    'runs nothing: %s',
    (cell) => {
      expect(toTsv([[cell]])).toBe(`'${cell}`)
    },
  )

  it.each(['-5', '+3.2%', '-1,200円', '-', '△5', '1=1'])('leaves numbers alone: %s', (cell) => {
    expect(toTsv([[cell]])).toBe(cell)
  })
})
