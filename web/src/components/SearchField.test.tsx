import { render, screen } from '@testing-library/react'
import { expect, it } from 'vitest'
import { SearchField } from './SearchField'

it('accepts no text that the server would refuse as too long', () => {
  render(<SearchField label="検索" value="" onChange={() => {}} />)
  expect((screen.getByRole('textbox') as HTMLInputElement).maxLength).toBe(100)
})
