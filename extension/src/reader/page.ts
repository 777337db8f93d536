/** The result of the script in a web page. It is passed to the panel as JSON. */
export interface ReadPage {
  readonly kind: 'page'
  readonly url: string
  readonly title: string
  /** The page as Markdown. */
  readonly text: string
  /** The whole page as Markdown; "" if text leaves out nothing. */
  readonly whole: string
  /** Characters of whole that text leaves out. */
  readonly omitted: number
  /** The selected text. */
  readonly selection: string
  /** Frames of a size worth reading that belong to other sites. */
  readonly unreadFrames: number
}

/** The reason why a video has no transcript: none exists, or its site refuses it. */
export type NoTranscript = 'none' | 'refused'

/** The page, or the reason why it has no text. */
export type Found =
  | ReadPage
  | { readonly kind: 'pdf'; readonly url: string; readonly title: string }
  | { readonly kind: 'empty'; readonly unreadFrames: number }
  | { readonly kind: 'slow' }
  | { readonly kind: 'no-transcript'; readonly why: NoTranscript; readonly selection: string }
