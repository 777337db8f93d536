import { fireEvent, render, screen } from '@testing-library/react'
import { expect, it, vi } from 'vitest'
import { Dialog } from './Dialog'

it('has its title as its name, opens at once and restores the focus', () => {
  const button = document.body.appendChild(document.createElement('button'))
  button.focus()
  const { unmount } = render(
    <Dialog title="評価" onClose={() => {}}>
      <p>本文</p>
    </Dialog>,
  )
  const dialog = screen.getByRole('dialog', { name: '評価' })
  expect((dialog as HTMLDialogElement).open).toBe(true)
  unmount()
  expect(document.activeElement).toBe(button)
  button.remove()
})

it('requests to be closed on Esc, and stays open until then', () => {
  const onClose = vi.fn()
  render(
    <Dialog title="評価" onClose={onClose}>
      <p>本文</p>
    </Dialog>,
  )
  const dialog = screen.getByRole('dialog', { name: '評価' }) as HTMLDialogElement
  expect(fireEvent(dialog, new Event('cancel', { cancelable: true }))).toBe(false)
  expect(onClose).toHaveBeenCalledOnce()
  expect(dialog.open).toBe(true)
})
