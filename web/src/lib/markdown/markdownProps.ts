import type { ComponentType } from 'react'

/** CitationProps are the properties of a citation in a text. */
export interface CitationProps {
  readonly index: number
  /** Whether `markWeak` has marked the citation as unsupported. */
  readonly weak: boolean
}

/** MarkdownProps are the properties of a rendered text. */
export interface MarkdownProps {
  readonly text: string
  /** Whether more text will follow. Open syntax at its end is then shown as if it were closed. */
  readonly growing?: boolean
  /** Whether the text is incomplete: it was stopped, failed, or reached a limit. */
  readonly cut?: boolean
  /**
   * Renders `[1]` as a citation of a source. It receives only the number and the mark and reads the rest from a
   * context, so that no block is rendered again when the sources change.
   */
  readonly Citation?: ComponentType<CitationProps> | undefined
  /** Called for every rendered block. */
  readonly onBlock?: (source: string) => void
}
