/** DocxPart is a part of a document, in order. */
export type DocxPart =
  /** A paragraph of plain text. */
  | { readonly kind: 'title' | 'note' | 'quote' | 'source'; readonly text: string }
  | { readonly kind: 'heading'; readonly level: number; readonly text: string }
  /** A Markdown text. Its headings begin at `level`. */
  | { readonly kind: 'markdown'; readonly level: number; readonly text: string }
