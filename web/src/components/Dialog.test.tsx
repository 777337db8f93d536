import { cleanup, render, screen } from '@testing-library/react'
import userEvent from '@testing-library/user-event'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ConfirmDialog } from './Dialog'

describe('a confirmation', () => {
  afterEach(cleanup)

  const show = (onConfirm: () => Promise<void>) => {
    const onClose = vi.fn()
    render(
      <ConfirmDialog
        title="削除しますか"
        body="元に戻せません。"
        confirm="削除"
        onConfirm={onConfirm}
        onClose={onClose}
      />,
    )
    return onClose
  }

  it('is named by its title and closes once the work is done', async () => {
    let finish = () => {}
    const work = new Promise<void>((resolve) => {
      finish = resolve
    })
    const onClose = show(() => work)
    const dialog = screen.getByRole('dialog', { name: '削除しますか' })
    expect((dialog as HTMLDialogElement).open).toBe(true)
    const button = screen.getByRole('button', { name: '削除' })
    await userEvent.click(button)
    expect(button.getAttribute('aria-busy')).toBe('true')
    expect(onClose).not.toHaveBeenCalled()
    finish()
    await vi.waitFor(() => expect(onClose).toHaveBeenCalledOnce())
  })

  it('does nothing on キャンセル', async () => {
    const onConfirm = vi.fn(async () => {})
    const onClose = show(onConfirm)
    await userEvent.click(screen.getByRole('button', { name: 'キャンセル' }))
    expect(onClose).toHaveBeenCalledOnce()
    expect(onConfirm).not.toHaveBeenCalled()
  })
})
