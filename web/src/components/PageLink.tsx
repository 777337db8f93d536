import type { ComponentProps } from 'react'

interface PageLinkProps extends Omit<ComponentProps<'a'>, 'href' | 'target' | 'rel'> {
  readonly url: string
}

/** A link to a web page that a search has found. The page receives no referrer. */
export function PageLink({ url, children, ...rest }: PageLinkProps) {
  return (
    <a {...rest} href={url} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  )
}
