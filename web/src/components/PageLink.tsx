import type { ComponentProps } from 'react'

interface PageLinkProps extends Omit<ComponentProps<'a'>, 'href' | 'target' | 'rel'> {
  readonly url: string
}

/** A link to a page of the web that a search has found. The page learns nothing of where it was opened. */
export function PageLink({ url, children, ...rest }: PageLinkProps) {
  return (
    <a {...rest} href={url} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  )
}
