import { act, fireEvent, render, screen, within } from '@testing-library/react'
import { Provider } from 'jotai'
import { useState } from 'react'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import type { Change, Proofreading } from '@/lib/stream'
import { store } from '@/lib/ui/store'
import { toastsAtom } from '@/lib/ui/toast'
import { setMode } from './mode'
import { ProofreadView } from './ProofreadView'
import type { DecisionLists } from './review'

const text = '会議に行ます。\nまず最初に、資料を持参下さい。\n参加費は3,000円です。'

const change = (
  id: number,
  before: string,
  after: string,
  kind: Change['kind'],
  question = false,
): Change => {
  const start = text.indexOf(before)
  return {
    id,
    start,
    end: start + before.length,
    before,
    after,
    kind,
    reason: '',
    ...(question && { question }),
  }
}

// The changes are in the order of the server's events.
const changes = [
  change(1, '下さい', 'ください', 'variation'),
  change(2, '行ま', '行きま', 'typo'),
  change(3, 'まず最初に、', '', 'wordy'),
  change(4, '3,000円', '3,000円', 'fact', true),
]
const proofread: Proofreading = { text, changes, dropped: 0, unchecked: [] }

interface ShownProps {
  readonly proofread?: Proofreading
  readonly writing?: boolean
  readonly at?: DecisionLists
}

/** Shown renders the view and holds its decisions, as the conversation does. */
function Shown({ proofread: given = proofread, writing = false, at }: ShownProps) {
  const [decided, setDecided] = useState(at)
  last = decided
  return (
    <Provider store={store}>
      <input aria-label="欄" />
      <ProofreadView
        proofread={given}
        writing={writing}
        decided={decided}
        onDecide={setDecided}
        onSave={saved}
      />
    </Provider>
  )
}

let last: DecisionLists | undefined
const saved = vi.fn(async (_: string) => {})

const items = () => within(screen.getByRole('list', { name: '修正案の一覧' })).getAllByRole('listitem')
const item = (id: number) => items().find((entry) => entry.dataset.item === String(id)) as HTMLElement
const selected = () => items().find((entry) => entry.dataset.selected)?.dataset.item
const press = (key: string, target: Element = document.body) => fireEvent.keyDown(target, { key })
const copied = vi.fn(async (_: string) => {})

beforeEach(() => {
  setMode('split')
  copied.mockClear()
  vi.stubGlobal('navigator', { ...navigator, clipboard: { writeText: copied } })
  // The view is as wide as a large screen.
  vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockReturnValue(1000)
  document.elementFromPoint = () => null
})

describe('a proofread text', () => {
  it('shows the original and the corrected text side by side, or combined', () => {
    render(<Shown />)
    const side = (name: string) =>
      [...document.querySelectorAll(`[data-side="${name}"]`)].map((element) => element.textContent).join('\n')
    expect(side('before')).toBe(text)
    expect(side('after')).toBe('会議に行きます。\n資料を持参ください。\n参加費は3,000円です。')
    fireEvent.click(screen.getByRole('button', { name: 'まとめて表示' }))
    expect(side('both')).toContain('会議に行ま行きます。')
    expect(document.querySelectorAll('[data-side="both"] del')).toHaveLength(3)
    expect(document.querySelectorAll('[data-side="both"] ins')).toHaveLength(2)
  })

  it('lists its changes in text order, and filters them by kind', () => {
    render(<Shown />)
    expect(items().map((entry) => entry.dataset.item)).toEqual(['2', '3', '1', '4'])
    fireEvent.click(screen.getByRole('button', { name: '表記ゆれ 1' }))
    expect(items().map((entry) => entry.dataset.item)).toEqual(['1'])
    fireEvent.click(screen.getByRole('button', { name: 'すべて 4' }))
    expect(items()).toHaveLength(4)
  })

  it('lets the reader accept, refuse and reopen each change', () => {
    render(<Shown />)
    const accept = within(item(1)).getByRole('button', { name: '採用する' })
    fireEvent.click(accept)
    expect([last, accept.getAttribute('aria-pressed')]).toEqual([{ accepted: [1], refused: [] }, 'true'])
    fireEvent.click(within(item(1)).getByRole('button', { name: '採用しない' }))
    expect(last).toEqual({ accepted: [], refused: [1] })
    fireEvent.click(within(item(1)).getByRole('button', { name: '採用しない' }))
    expect(last).toEqual({ accepted: [], refused: [] })
    // A question without a replacement cannot be refused.
    expect(within(item(4)).queryByRole('button', { name: '採用しない' })).toBeNull()
  })

  it('accepts all changes except questions, restores all, and undoes that', () => {
    render(<Shown at={{ accepted: [], refused: [3] }} />)
    fireEvent.click(screen.getByRole('button', { name: 'すべて採用' }))
    expect(last).toEqual({ accepted: [1, 2, 3], refused: [] })
    fireEvent.click(screen.getByRole('button', { name: 'すべて元に戻す' }))
    expect(last).toEqual({ accepted: [], refused: [1, 2, 3] })
    const undo = store.get(toastsAtom).at(-1)?.action
    expect(undo?.label).toBe('取り消す')
    act(() => undo?.run())
    expect(last).toEqual({ accepted: [1, 2, 3], refused: [] })
  })

  it('accepts only the listed kind of changes', () => {
    render(<Shown />)
    fireEvent.click(screen.getByRole('button', { name: '誤字 1' }))
    fireEvent.click(screen.getByRole('button', { name: '誤字をすべて採用' }))
    expect(last).toEqual({ accepted: [2], refused: [] })
  })

  it('copies the corrected text', async () => {
    render(<Shown at={{ accepted: [], refused: [3] }} />)
    fireEvent.click(screen.getByRole('button', { name: '校正後の文章をコピー' }))
    expect(copied).toHaveBeenCalledWith(
      '会議に行きます。\nまず最初に、資料を持参ください。\n参加費は3,000円です。',
    )
  })

  it('is navigated and decided by keyboard', () => {
    render(<Shown />)
    press('j')
    expect([selected(), document.activeElement?.getAttribute('aria-label')]).toEqual([
      '2',
      '誤字。「行ま」を「行きま」に',
    ])
    press('a')
    expect([last, selected()]).toEqual([{ accepted: [2], refused: [] }, '3'])
    press('r')
    press('ArrowUp', document.activeElement as Element)
    expect([last, selected()]).toEqual([{ accepted: [2], refused: [3] }, '3'])
    press('k')
    press('k')
    expect(selected()).toBe('2')
    expect(document.querySelector('[data-mark="2"]')?.hasAttribute('data-selected')).toBe(true)
    expect(screen.getByRole('status').textContent).toBe('不採用にしました。未確認は2件です。')
  })

  it('ignores keys in fields, during composition, with modifiers and while a dialog is open', () => {
    render(<Shown />)
    press('j', screen.getByLabelText('欄'))
    fireEvent.keyDown(document.body, { key: 'j', isComposing: true })
    fireEvent.keyDown(document.body, { key: 'j', ctrlKey: true })
    press('ArrowDown')
    const dialog = document.body.appendChild(document.createElement('dialog'))
    dialog.setAttribute('open', '')
    press('j')
    dialog.remove()
    expect(selected()).toBeUndefined()
    press('j')
    expect(selected()).toBe('2')
  })

  it('selects a change on a click in the text', () => {
    render(<Shown />)
    fireEvent.click(document.querySelector('[data-mark="1"] del') as Element)
    expect(selected()).toBe('1')
  })

  it('has one change in the tab order', () => {
    render(<Shown />)
    const stops = () => items().filter((entry) => entry.querySelector('[tabindex="0"]'))
    expect(stops().map((entry) => entry.dataset.item)).toEqual(['2'])
    press('j')
    press('j')
    expect(stops().map((entry) => entry.dataset.item)).toEqual(['3'])
  })

  it('is read-only while the server proofreads it', () => {
    render(<Shown writing />)
    expect(screen.getByText('修正が必要な箇所が4件あります')).toBeTruthy()
    expect(screen.queryByRole('button', { name: '採用する' })).toBeNull()
    expect(screen.queryByRole('button', { name: 'すべて採用' })).toBeNull()
    press('j')
    press('a')
    expect([selected(), last]).toEqual(['2', undefined])
  })

  it('reports that no change is needed, rejected proposals and unchecked parts', () => {
    const none = { ...proofread, changes: [], dropped: 2 }
    const { rerender } = render(<Shown proofread={none} writing />)
    expect(screen.getByText('文章を確認しています')).toBeTruthy()
    rerender(<Shown proofread={none} />)
    expect(screen.getByText('修正が必要な箇所はありませんでした。')).toBeTruthy()
    expect(screen.getByText('本文と照合できなかった2件を除外しました。')).toBeTruthy()
    rerender(<Shown proofread={{ ...none, unchecked: [{ start: 8, end: text.length }] }} />)
    expect(screen.getByText('確認できた範囲では、修正が必要な箇所はありませんでした。')).toBeTruthy()
    expect(screen.getByText(/^「まず最初に、資料を持参下さい。 参加費は…」からの/)).toBeTruthy()
    rerender(<Shown proofread={{ ...none, text: '𠮷野家', unchecked: [{ start: 0, end: 4 }] }} />)
    expect(screen.getByText('「𠮷野家…」からの3文字')).toBeTruthy()
  })

  it('shows a change in a sheet if the screen is too narrow for two columns', () => {
    vi.spyOn(HTMLElement.prototype, 'clientWidth', 'get').mockReturnValue(360)
    render(<Shown />)
    expect(screen.queryByRole('button', { name: '並べて表示' })).toBeNull()
    fireEvent.click(document.querySelector('[data-mark="3"]') as Element)
    const sheet = screen.getByRole('dialog', { name: '修正案（4件中2件目）' })
    fireEvent.click(within(sheet).getByRole('button', { name: '採用しない' }))
    expect(last).toEqual({ accepted: [], refused: [3] })
    fireEvent.click(within(sheet).getByRole('button', { name: '次の修正案' }))
    expect(screen.getByRole('dialog', { name: '修正案（4件中3件目）' })).toBeTruthy()
    fireEvent.click(screen.getByRole('button', { name: '閉じる' }))
    expect(screen.queryByRole('dialog')).toBeNull()
  })
})
