import type { ReactNode } from 'react'

/** Shows the code of a diagram. The app's component of this name renders it. */
export function Diagram({ children }: { code: string; children: ReactNode }): ReactNode {
  return children
}
