import { type ElementType, Fragment, type ReactNode } from 'react'

/**
 * Stands in for react-remove-scroll (see the alias in vite.config.ts), which Radix asks for in modal menus and popovers.
 * Ours are never modal: it would only be carried along, and it writes style elements, which the content security policy
 * refuses. Dialogs are the browser's own.
 */
export function RemoveScroll({ as: As = Fragment, children }: { as?: ElementType; children?: ReactNode }) {
  return <As>{children}</As>
}
