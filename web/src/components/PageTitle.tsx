/** The title of the page, also announced to screen readers after a navigation. */
export function PageTitle({ children }: { children?: string | undefined }) {
  return <title>{children ? `${children} | Tsumugi` : 'Tsumugi'}</title>
}
