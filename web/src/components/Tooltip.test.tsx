import { act, fireEvent, render, screen } from '@testing-library/react'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { IconButton } from './IconButton'
import { Tooltips } from './Tooltip'

const tip = () => screen.queryByRole('tooltip', { hidden: true })?.textContent
const button = (name: string) => screen.getByRole('button', { name })
const wait = (ms: number) => act(() => vi.advanceTimersByTime(ms))
const enter = (name: string, pointerType = 'mouse') =>
  fireEvent.pointerOver(button(name), { pointerType, bubbles: true })

describe('a tooltip', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    render(
      <>
        <IconButton label="検索" shortcut="Ctrl K">
          <svg />
        </IconButton>
        <IconButton label="お知らせ">
          <svg />
        </IconButton>
        <Tooltips />
      </>,
    )
  })

  it('appears after the pointer rests, and at once on the next element', () => {
    enter('検索')
    wait(440)
    expect(tip()).toBeUndefined()
    wait(20)
    expect(tip()).toBe('検索Ctrl K')
    expect(button('検索').getAttribute('aria-describedby')).toBe('tip')
    enter('お知らせ')
    wait(0)
    expect(tip()).toBe('お知らせ')
    expect(button('検索').hasAttribute('aria-describedby')).toBe(false)
    fireEvent.pointerOver(document.body, { pointerType: 'mouse' })
    expect(tip()).toBeUndefined()
  })

  it('never covers an open menu, but appears inside it', () => {
    const menu = render(
      <div data-floating>
        <IconButton label="閉じる">
          <svg />
        </IconButton>
      </div>,
    )
    enter('検索')
    wait(500)
    expect(tip()).toBeUndefined()
    enter('閉じる')
    wait(500)
    expect(tip()).toBe('閉じる')
    menu.unmount()
    enter('お知らせ')
    wait(500)
    expect(tip()).toBe('お知らせ')
  })

  it('disappears with its element, and then ignores Esc', () => {
    const added = render(
      <IconButton label="停止">
        <svg />
      </IconButton>,
    )
    enter('停止')
    wait(500)
    expect(tip()).toBe('停止')
    added.unmount()
    fireEvent(window, new Event('resize'))
    expect(tip()).toBeUndefined()
    expect(fireEvent.keyDown(document.body, { key: 'Escape' })).toBe(true)
  })

  it('disappears on a press, and stays hidden until the pointer has left', () => {
    enter('検索')
    wait(500)
    fireEvent.pointerDown(button('検索'))
    expect(tip()).toBeUndefined()
    enter('検索')
    wait(500)
    expect(tip()).toBeUndefined()
    fireEvent.pointerOver(document.body, { pointerType: 'mouse' })
    wait(500)
    enter('検索')
    wait(500)
    expect(tip()).toBe('検索Ctrl K')
  })

  it('appears at once on keyboard focus, and disappears on Esc, which then closes nothing else', () => {
    const [search, notices] = [button('検索'), button('お知らせ')]
    const matches = vi.spyOn(HTMLElement.prototype, 'matches')
    matches.mockImplementation((selector) => selector !== ':focus-visible')
    act(() => search.focus())
    expect(document.querySelector('#tip')).toBeNull()
    matches.mockImplementation((selector) => selector === ':focus-visible')
    act(() => notices.focus())
    matches.mockRestore()
    expect(tip()).toBe('お知らせ')
    expect(fireEvent.keyDown(document.body, { key: 'Escape' })).toBe(false)
    expect(tip()).toBeUndefined()
    expect(fireEvent.keyDown(document.body, { key: 'Escape' })).toBe(true)
  })

  it('never appears on touch', () => {
    enter('検索', 'touch')
    wait(1000)
    expect(tip()).toBeUndefined()
  })
})
