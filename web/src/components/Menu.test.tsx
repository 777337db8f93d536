import { fireEvent, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { describe, expect, it, vi } from 'vitest'
import { Menu, MenuChoice, MenuItem } from './Menu'

const focused = () => document.activeElement?.textContent
const button = () => screen.getByRole('button', { name: '操作' })

function show() {
  const chosen = vi.fn<(name: string) => void>()
  const user = userEvent.setup()
  render(
    <>
      <Menu trigger={<button type="button">操作</button>}>
        <MenuItem onSelect={() => chosen('rename')}>Rename</MenuItem>
        <MenuItem disabled onSelect={() => chosen('resend')}>
          Resend
        </MenuItem>
        <MenuItem onSelect={() => chosen('remove')}>Remove</MenuItem>
        <MenuChoice
          label="Theme"
          value="light"
          options={[
            { value: 'light', label: 'Light' },
            { value: 'dark', label: 'Dark' },
          ]}
          onChange={chosen}
        />
      </Menu>
      <input />
    </>,
  )
  return { chosen, user }
}

describe('a menu', () => {
  it('opened by a key focuses its first item, and skips disabled items', async () => {
    const { user, chosen } = show()
    expect(button().getAttribute('aria-expanded')).toBe('false')
    button().focus()
    await user.keyboard('{Enter}')
    expect(screen.getByRole('menu', { name: '操作' })).toBeTruthy()
    expect(button().getAttribute('aria-expanded')).toBe('true')
    expect(focused()).toBe('Rename')
    for (const [key, to] of [
      ['{ArrowUp}', 'Rename'],
      ['{ArrowDown}', 'Remove'],
      ['{End}', 'Dark'],
      ['{ArrowDown}', 'Dark'],
      ['{Home}', 'Rename'],
      ['{Tab}', 'Rename'],
      ['r', 'Remove'],
      ['e', 'Remove'],
      ['n', 'Rename'],
    ] as const) {
      await user.keyboard(key)
      expect(focused(), key).toBe(to)
    }
    expect(chosen).not.toHaveBeenCalled()
  })

  it('stays open at the Esc that cancels a conversion', async () => {
    const { user } = show()
    await user.click(button())
    fireEvent.keyDown(screen.getByRole('menu'), { key: 'Escape', isComposing: true })
    expect(screen.getByRole('menu')).toBeTruthy()
    fireEvent.keyDown(screen.getByRole('menu'), { key: 'Escape' })
    expect(screen.queryByRole('menu')).toBeNull()
  })

  it('opened by the pointer has the focus itself, and the arrow keys enter from either end', async () => {
    const { user } = show()
    await user.click(button())
    expect(document.activeElement).toBe(screen.getByRole('menu'))
    await user.keyboard('{ArrowUp}')
    expect(focused()).toBe('Dark')
    await user.pointer({ target: screen.getByRole('menuitem', { name: 'Remove' }) })
    expect(focused()).toBe('Remove')
    await user.pointer({ target: screen.getByRole('menuitem', { name: 'Resend' }) })
    expect(document.activeElement).toBe(screen.getByRole('menu'))
  })

  it('restores the focus after a selection and on Esc, and stays open for a choice', async () => {
    const { user, chosen } = show()
    await user.click(button())
    await user.click(screen.getByRole('menuitemradio', { name: 'Dark' }))
    expect(chosen).toHaveBeenLastCalledWith('dark')
    await user.click(screen.getByRole('menuitem', { name: 'Resend' }))
    expect(screen.getByRole('menuitemradio', { name: 'Light' }).getAttribute('aria-checked')).toBe('true')
    await user.keyboard('{Home}{Enter}')
    expect(chosen).toHaveBeenLastCalledWith('rename')
    expect(screen.queryByRole('menu')).toBeNull()
    await vi.waitFor(() => expect(document.activeElement).toBe(button()))

    await user.keyboard('{ArrowDown}')
    const press = new KeyboardEvent('keydown', { key: 'Escape', bubbles: true, cancelable: true })
    fireEvent(screen.getByRole('menu'), press)
    expect(screen.queryByRole('menu')).toBeNull()
    // A surrounding dialog ignores a default-prevented key.
    expect(press.defaultPrevented).toBe(true)
    await vi.waitFor(() => expect(document.activeElement).toBe(button()))
    expect(chosen.mock.calls.flat()).toEqual(['dark', 'rename'])
  })

  it('closes on a press or focus outside, which keeps the focus', async () => {
    const { user } = show()
    const elsewhere = screen.getByRole('textbox')
    await user.click(button())
    await user.click(elsewhere)
    expect(screen.queryByRole('menu')).toBeNull()
    await user.click(button())
    elsewhere.focus()
    await vi.waitFor(() => expect(screen.queryByRole('menu')).toBeNull())
    await new Promise((done) => setTimeout(done))
    expect(document.activeElement).toBe(elsewhere)
    await user.click(button())
    await user.click(button())
    expect(screen.queryByRole('menu')).toBeNull()
  })

  it('accepts a press on its button released over an item, and a click without pointer or keys', async () => {
    const { user, chosen } = show()
    await user.pointer([
      { keys: '[MouseLeft>]', target: button() },
      { target: screen.queryByRole('menuitem', { name: 'Remove' }) ?? button() },
    ])
    await user.pointer([
      { target: screen.getByRole('menuitem', { name: 'Remove' }) },
      { keys: '[/MouseLeft]' },
    ])
    expect(chosen.mock.calls).toEqual([['remove']])
    fireEvent.click(button(), { detail: 0 })
    expect(focused()).toBe('Rename')
  })
})
