import { QueryClientProvider } from '@tanstack/react-query'
import { act, fireEvent, render, screen } from '@testing-library/react'
import { useState } from 'react'
import { MemoryRouter } from 'react-router'
import { expect, it } from 'vitest'
import { rememberSources } from '@/entities/source/dataSources'
import { uploads } from '@/entities/source/uploads'
import type { DataSource } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { FileField } from './FileField'

function Form({ id }: { id: string }) {
  const [value, setValue] = useState(id)
  const field = { label: '議事録', name: 'file', optional: false, required: true, error: undefined }
  return <FileField {...field} disabled={false} value={value} target="form:file" onChange={setValue} />
}

function show(id: string) {
  render(
    <QueryClientProvider client={queryClient}>
      <MemoryRouter>
        <Form id={id} />
      </MemoryRouter>
    </QueryClientProvider>,
  )
}

const adding = () => screen.getByRole('button', { name: '議事録' })

/** Presses a button that disappears, as a user does, who first moves the focus to it. */
function press(name: string): void {
  const button = screen.getByRole('button', { name })
  button.focus()
  fireEvent.click(button)
  expect(screen.queryByRole('button', { name })).toBeNull()
}

it('moves the focus to the button that adds a file when the file or its upload is removed', () => {
  rememberSources([{ id: 'source', filename: '議事録.pdf', status: 'success' } as DataSource])
  show('source')
  press('「議事録.pdf」を外す')
  expect(document.activeElement).toBe(adding())

  act(() => uploads.add([new File([''], '空.pdf')], { name: 'form:file', onSent: () => {} }))
  press('「空.pdf」を外す')
  expect(document.activeElement).toBe(adding())
})
