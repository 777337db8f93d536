import { act, fireEvent, render, screen } from '@testing-library/react'
import { beforeAll, expect, it, vi } from 'vitest'
import { Markdown, preloadMarkdown } from '@/lib/markdown'
import { Citation, CitationsContext } from './Citation'
import { markUnsupported, type Source } from './citations'

const source: Source = {
  passageId: 'p1',
  score: 0,
  index: 1,
  filename: '就業規則.pdf',
  page: 3,
  locator: '第3章 休暇',
  quote: '年次有給休暇は10日とする。',
  support: 'weak',
  weakOccurrences: null,
  deleted: false,
  dataSourceId: 'd',
  url: null,
  site: '',
  publishedOn: '',
}

beforeAll(preloadMarkdown)

function Answer({
  text,
  sources,
  open,
  onBlock,
}: {
  text: string
  sources: Source[]
  open: () => void
  onBlock?: () => void
}) {
  const byIndex = new Map(sources.map((item) => [item.index, item]))
  return (
    <CitationsContext value={{ byIndex, open }}>
      <Markdown text={markUnsupported(text, sources)} Citation={Citation} {...(onBlock && { onBlock })} />
    </CitationsContext>
  )
}

it('opens its source, and is plain text without one', async () => {
  const open = vi.fn()
  render(<Answer text="10日です[1][2]。" sources={[source]} open={open} />)
  await act(async () => screen.getByRole('button', { name: '出典1、就業規則.pdf 3ページ、要確認' }).click())
  expect(open).toHaveBeenCalledWith(source)
  expect(screen.getAllByRole('button')).toHaveLength(1)
  expect(screen.getByText(/\[2\]/)).toBeTruthy()
})

it('shows the cited text while focused, until Esc', async () => {
  render(<Answer text="10日です[1]。" sources={[source]} open={() => {}} />)
  const button = screen.getByRole('button')
  vi.spyOn(button, 'matches').mockReturnValue(true)
  await act(async () => button.focus())
  const card = screen.getByRole('tooltip')
  expect(card.textContent).toContain('就業規則.pdf')
  expect(card.textContent).toContain('3ページ・第3章 休暇')
  expect(card.textContent).toContain('年次有給休暇は10日とする。')
  expect(card.textContent).toContain('要確認')
  expect(button.getAttribute('aria-describedby')).toBe(card.id)
  fireEvent.keyDown(button, { key: 'Escape' })
  expect(screen.queryByRole('tooltip')).toBeNull()
})

it('shows 要確認 only if the sentence is unsupported', async () => {
  const text = '`[1]`と書きます。有給休暇は10日です[1]。**20日[1]**、30日です[1]。'
  const sources = [{ ...source, weakOccurrences: [2] }]
  render(<Answer text={text} sources={sources} open={() => {}} />)
  expect(screen.getAllByRole('button').map((button) => button.getAttribute('aria-label'))).toEqual([
    '出典1、就業規則.pdf 3ページ',
    '出典1、就業規則.pdf 3ページ、要確認',
    '出典1、就業規則.pdf 3ページ',
  ])
  expect(document.body.textContent).not.toContain('\u2063')
  const [supported] = screen.getAllByRole('button')
  vi.spyOn(supported as HTMLElement, 'matches').mockReturnValue(true)
  await act(async () => supported?.focus())
  expect(screen.getByRole('tooltip').textContent).not.toContain('要確認')
})

it('renders no block again when the sources change', () => {
  const onBlock = vi.fn()
  const view = (sources: Source[]) => (
    <Answer text={'10日です[1]。\n\n20日です[1]。'} sources={sources} open={() => {}} onBlock={onBlock} />
  )
  const { rerender } = render(view([]))
  expect(screen.queryAllByRole('button')).toHaveLength(0)
  const before = onBlock.mock.calls.length
  rerender(view([{ ...source, support: 'strong' }]))
  expect(screen.getAllByRole('button')).toHaveLength(2)
  expect(onBlock.mock.calls.length).toBe(before)
})
