import { QueryClientProvider } from '@tanstack/react-query'
import { Provider } from 'jotai'
import { LucideProvider } from 'lucide-react'
import { StrictMode } from 'react'
import { type DataRouter, RouterProvider } from 'react-router'
import { Toaster } from '@/components/Toaster'
import { Tooltips } from '@/components/Tooltip'
import { queryClient } from '@/lib/api/queries'
import { store } from '@/lib/ui/store'

/** App is the app with its global providers. */
export function App({ router }: { router: DataRouter }) {
  return (
    <StrictMode>
      <Provider store={store}>
        <QueryClientProvider client={queryClient}>
          <LucideProvider strokeWidth={1.5}>
            <RouterProvider router={router} />
            <Toaster />
            <Tooltips />
          </LucideProvider>
        </QueryClientProvider>
      </Provider>
    </StrictMode>
  )
}
