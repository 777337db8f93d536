import { act, render } from '@testing-library/react'
import { createMemoryRouter, RouterProvider } from 'react-router'
import { expect, it } from 'vitest'
import { setValues, useQueryState } from './queryState'

type State = ReturnType<typeof useQueryState>

function Page({ onDraw }: { onDraw: (state: State) => void }) {
  onDraw(useQueryState())
  return null
}

it('a second change before the first is rendered keeps both', async () => {
  let change: State[1] = () => {}
  const onDraw = (state: State) => {
    change = state[1]
  }
  const router = createMemoryRouter([{ path: '*', element: <Page onDraw={onDraw} /> }], {
    initialEntries: ['/home/skill?q=a&page=2'],
  })
  render(<RouterProvider router={router} />)
  await act(async () => {
    change((next) => setValues(next, { q: '' }))
    change((next) => setValues(next, { category: 'c' }))
  })
  expect(router.state.location.search).toBe('?page=2&category=c')
  await act(() => router.navigate('/home/skill?q=b'))
  await act(async () => change((next) => setValues(next, { category: 'd' })))
  expect(router.state.location.search).toBe('?q=b&category=d')
})
