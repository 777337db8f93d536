import { expect, it } from 'vitest'
import type { Citation } from '@/lib/api'
import type { AnswerCitation, AnswerSource } from '@/lib/stream'
import {
  citationsOf,
  markUnsupported,
  noteOf,
  placeOf,
  quoteOf,
  type Source,
  sortSources,
  sourceLines,
  sourcesOf,
  spokenTitle,
} from './citations'

const citation = (index: number, change: Partial<Citation> = {}): Citation => ({
  index,
  chunk_embedding_id: `p${index}`,
  data_source_id: 'd',
  filename: '就業規則.pdf',
  page: index,
  score: 1,
  quote: '年次有給休暇は、',
  ...change,
})

const given: AnswerSource = {
  id: 'p1',
  index: 1,
  title: '就業規則.pdf',
  filename: '就業規則.pdf',
  mediaType: 'application/pdf',
  page: 3,
  url: null,
  site: '',
  publishedOn: '',
  dataSourceId: 'd',
  locator: '第3章',
}

const checked: AnswerCitation = {
  index: 1,
  passageId: 'p1',
  dataSourceId: 'd',
  filename: '就業規則.pdf',
  page: 3,
  locator: '第3章',
  score: 1,
  quote: '本文',
  support: 'weak',
  weakOccurrences: [1],
  deleted: false,
  url: null,
  site: '',
  publishedOn: '',
}

it('lists cited sources by number, separately from consulted ones', () => {
  const stored = [citation(3, { support: 'strong' }), citation(1, { support: 'weak' }), citation(2)]
  const { cited, consulted } = sortSources(sourcesOf(null, stored), '[2] は本文にもあります')
  expect(cited.map(({ index }) => index)).toEqual([1, 3])
  expect(consulted.map(({ index }) => index)).toEqual([2])
})

it('uses the citations in the text of an unchecked answer', () => {
  const { cited, consulted } = sortSources(sourcesOf(null, [citation(1), citation(2)]), '10日です[2]。')
  expect(cited.map(({ index }) => index)).toEqual([2])
  expect(consulted.map(({ index }) => index)).toEqual([1])
})

it('returns the same sources for a running, a checked and a stored answer', () => {
  const writing = sourcesOf({ sources: [given], citations: null }, [])
  expect(writing).toMatchObject([
    { passageId: 'p1', index: 1, page: 3, locator: '第3章', support: null, quote: '' },
  ])
  const ended = sourcesOf({ sources: [given], citations: [checked] }, [])
  expect(ended).toMatchObject([{ passageId: 'p1', index: 1, page: 3, support: 'weak', quote: '本文' }])
  const stored = citationsOf({ sources: [given], citations: [checked] }, '')
  expect(sourcesOf(null, stored)).toMatchObject([
    {
      passageId: 'p1',
      index: 1,
      filename: '就業規則.pdf',
      page: 3,
      locator: '第3章',
      support: 'weak',
      quote: '本文',
    },
  ])
})

it('keeps the sources that the text of a stopped answer cites', () => {
  const other = { ...given, id: 'p2', index: 2 }
  const view = { sources: [given, other], citations: null }
  expect(citationsOf(view, '10日です[2]。').map(({ index }) => index)).toEqual([2])
})

it('reports whether all citations of a source are unsupported, or some', () => {
  const [partly, all] = sourcesOf(null, [
    citation(1, { support: 'weak', weak_occurrences: [1] }),
    citation(2, { support: 'weak' }),
  ])
  expect(partly && noteOf(partly, '10日です[1]。20日です[1]。')).toBe('一部要確認')
  expect(all && noteOf(all, '10日です[2]。20日です[2]。')).toBe('要確認')
  expect(partly && noteOf(partly, '`[1]`\n```\n[1]\n```\n20日です[1]。')).toBe('要確認')
  expect(
    citationsOf({ sources: [given], citations: [checked] }, '').map((one) => one.weak_occurrences),
  ).toEqual([[1]])
})

it('reports only that a file was deleted', () => {
  const [gone] = sourcesOf(null, [
    { index: 1, filename: '削除されました', page: 0, score: 0, quote: '', support: 'weak', deleted: true },
  ])
  expect(gone && spokenTitle(gone, noteOf(gone, '10日です[1]。'))).toBe('出典1、削除されました')
  expect(gone && markUnsupported('10日です[1]。', [gone])).toBe('10日です[1]。')
})

it('returns the place of a source in the units of its file type', () => {
  const inFile = { url: null, site: '', publishedOn: '' }
  expect(placeOf({ ...inFile, filename: '規則.pdf', page: 1200, locator: '第3章' })).toBe('1,200ページ')
  expect(placeOf({ ...inFile, filename: '説明.pptx', page: 4, locator: 'スライド 4' })).toBe('スライド 4')
  expect(placeOf({ ...inFile, filename: '名簿.xlsx', page: 2, locator: '社員!B12:F20' })).toBe('社員!B12:F20')
  expect(placeOf({ ...inFile, filename: '規程.docx', page: 1, locator: '第3章 休暇 > 第12条' })).toBe(
    '第12条',
  )
  expect(placeOf({ ...inFile, filename: 'メモ.txt', page: 0, locator: '' })).toBe('')
})

const page: Citation = {
  index: 2,
  chunk_embedding_id: 'u',
  filename: '最低賃金の改定',
  page: 0,
  score: 3,
  quote: '時間額1,142円',
  url: 'https://www.example.jp/wage?a=1',
  site: 'example.jp',
  published_on: '2026-09-01',
  support: 'strong',
}

it('returns the same web page for a running, a checked and a stored answer', () => {
  const found: AnswerSource = {
    ...given,
    id: 'u',
    index: 2,
    title: '最低賃金の改定',
    filename: '',
    page: null,
    url: page.url ?? null,
    site: 'example.jp',
    publishedOn: '2026-09-01',
    dataSourceId: '',
    locator: '',
  }
  const wanted = { index: 2, filename: '最低賃金の改定', url: page.url, site: 'example.jp', dataSourceId: '' }
  expect(sourcesOf({ sources: [found], citations: null }, [])).toMatchObject([wanted])
  const [stored] = sourcesOf(null, [page])
  expect(stored).toMatchObject({ ...wanted, quote: '時間額1,142円', support: 'strong' })
  expect(stored && placeOf(stored)).toBe('example.jp 2026年9月1日')
  expect(stored && spokenTitle(stored, '')).toMatch(
    /^出典2、最低賃金の改定 example\.jp 2026年9月1日、新しいタブ/,
  )
  const ended = citationsOf({ sources: [found], citations: null }, '1,142円です[2]。')
  expect(ended).toMatchObject([{ index: 2, url: page.url, site: 'example.jp', published_on: '2026-09-01' }])
  expect(ended[0]).not.toHaveProperty('data_source_id')
})

it('accepts only web addresses, and writes them into exported texts', () => {
  const [bad] = sourcesOf(null, [{ ...page, url: 'javascript:alert(1)' }])
  expect(bad?.url).toBeNull()
  expect(sourceLines({ citations: [page], content: '' })).toEqual([
    '[2] 最低賃金の改定 example.jp 2026年9月1日 https://www.example.jp/wage?a=1',
  ])
})

it('writes sources into exported texts, and has names for screen readers', () => {
  const citations = [citation(1, { support: 'strong' }), citation(2, { support: 'weak' }), citation(3)]
  expect(sourceLines({ citations, content: '' })).toEqual([
    '[1] 就業規則.pdf 1ページ',
    '[2] 就業規則.pdf 2ページ（要確認）',
  ])
  const [first, second] = sourcesOf(null, citations)
  expect(first && spokenTitle(first, '')).toBe('出典1、就業規則.pdf 1ページ')
  expect(second && spokenTitle(second, noteOf(second, '10日です[2]。'))).toBe(
    '出典2、就業規則.pdf 2ページ、要確認',
  )
})

it('quotes web pages without Markdown syntax, and files unchanged', () => {
  const of = (quote: string, url: string | null = 'https://example.com') => quoteOf({ quote, url } as Source)
  expect(of('## 休暇\n\n**有給**は[こちら](https://a.example/x "題")\n> * 10日\n- `20日`')).toBe(
    '休暇\n\n有給はこちら\n・10日\n・20日',
  )
  expect(of('| 年 | 日数 |\n|---|:--:|\n| 1 | 10 |')).toBe('年、日数\n1、10')
  expect(of('3 * 4 = 12、snake_case、C# と 1\\. は残す')).toBe('3 * 4 = 12、snake_case、C# と 1. は残す')
  expect(of('# 見出し', null)).toBe('# 見出し')
})
