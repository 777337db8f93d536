import { fireEvent, render, screen } from '@testing-library/react'
import { describe, expect, it, vi } from 'vitest'
import { InputChoices } from './InputChoices'

describe('several choices in a form of a tool', () => {
  const show = (value: string[], error?: string) => {
    const onChange = vi.fn()
    const options = ['a', 'b', 'c'].map((o) => ({ value: o, label: `選択肢${o}` }))
    render(
      <InputChoices
        name="q.gear"
        field={{
          name: 'gear',
          label: '備品',
          description: '説明',
          type: 'choices',
          required: true,
          min_items: 2,
          max_items: 3,
          options,
        }}
        value={value}
        error={error}
        onChange={onChange}
      />,
    )
    return onChange
  }

  it('are sent in the order of the options', () => {
    const onChange = show(['c'])
    fireEvent.click(screen.getByLabelText('選択肢a'))
    expect(onChange).toHaveBeenLastCalledWith(['a', 'c'])
    fireEvent.click(screen.getByLabelText('選択肢c'))
    expect(onChange).toHaveBeenLastCalledWith([])
  })

  it('are a group with its title, description and error', () => {
    show([], '選択肢から選択してください。')
    const group = screen.getByRole('group', { name: '備品' })
    const texts = group
      .getAttribute('aria-describedby')
      ?.split(' ')
      .map((id) => document.getElementById(id)?.textContent)
    expect(texts).toEqual(['説明\n2個以上選択してください。', '選択肢から選択してください。'])
  })
})
