/** ReadPage is the result of the script in a web page, passed to the panel as JSON. */
export interface ReadPage {
  readonly kind: 'page'
  readonly url: string
  readonly title: string
  /** The page as Markdown. */
  readonly text: string
  /** The whole page as Markdown; "" if text omits nothing. */
  readonly whole: string
  /** The number of characters of whole that text omits. */
  readonly omitted: number
  /** The selected text. */
  readonly selection: string
  /** The number of frames of other sites that are large enough to have text. */
  readonly unreadFrames: number
}

/** NoTranscript is the reason why a video has no transcript: none exists, or its site refuses it. */
export type NoTranscript = 'none' | 'refused'

/** Found is the page, or the reason why it has no text. */
export type Found =
  | ReadPage
  | { readonly kind: 'pdf'; readonly url: string; readonly title: string }
  | { readonly kind: 'empty'; readonly unreadFrames: number }
  | { readonly kind: 'slow' }
  | { readonly kind: 'no-transcript'; readonly why: NoTranscript; readonly selection: string }
