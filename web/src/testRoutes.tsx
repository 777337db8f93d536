import { QueryClientProvider } from '@tanstack/react-query'
import { render } from '@testing-library/react'
import { Provider } from 'jotai'
import { createMemoryRouter, type RouteObject, RouterProvider } from 'react-router'
import { queryClient } from '@/lib/api/queries'
import { store } from '@/lib/ui/store'

/** renderRoutes renders the page at a path with the query client and the store of the app, in a test. */
export function renderRoutes(routes: RouteObject[], path = '/') {
  render(
    <QueryClientProvider client={queryClient}>
      <Provider store={store}>
        <RouterProvider router={createMemoryRouter(routes, { initialEntries: [path] })} />
      </Provider>
    </QueryClientProvider>,
  )
}
