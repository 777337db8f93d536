import { fireEvent, render, screen } from '@testing-library/react'
import { describe, expect, it, vi } from 'vitest'
import { RenameField } from './RenameField'

describe('renaming in place', () => {
  const show = () => {
    const onDone = vi.fn()
    render(<RenameField title="議題" onDone={onDone} />)
    const field = screen.getByLabelText('チャット名')
    return { field, onDone, type: (value: string) => fireEvent.change(field, { target: { value } }) }
  }

  it('saves the new name on Enter', () => {
    const { field, onDone, type } = show()
    type(' 新しい議題 ')
    fireEvent.keyDown(field, { key: 'Enter', keyCode: 13 })
    fireEvent.blur(field)
    expect(onDone).toHaveBeenCalledExactlyOnceWith('新しい議題')
  })

  it('does not save on the Enter of a conversion', () => {
    const { field, onDone, type } = show()
    type('ぎだい')
    fireEvent.keyDown(field, { key: 'Enter', keyCode: 229 })
    fireEvent.keyDown(field, { key: 'Enter', keyCode: 13, isComposing: true })
    fireEvent.keyDown(field, { key: 'Escape', keyCode: 229 })
    expect(onDone).not.toHaveBeenCalled()
  })

  it('saves the new name on blur', () => {
    const { field, onDone, type } = show()
    type('別の議題')
    fireEvent.blur(field)
    expect(onDone).toHaveBeenCalledExactlyOnceWith('別の議題')
  })

  it.each([
    ['Esc', '別の議題', 'Escape'],
    ['an empty name', '  ', 'Enter'],
    ['the same name', '議題', 'Enter'],
  ])('changes nothing on %s', (_, value, key) => {
    const { field, onDone, type } = show()
    type(value)
    fireEvent.keyDown(field, { key })
    expect(onDone).toHaveBeenCalledExactlyOnceWith(null)
  })
})
