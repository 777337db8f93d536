import type { ReactNode } from 'react'

/** In the app this draws a diagram; here its code is shown. */
export function Diagram({ children }: { code: string; children: ReactNode }): ReactNode {
  return children
}
