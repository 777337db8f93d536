/** What the script in a web page found. It crosses from page to panel as JSON. */
export interface ReadPage {
  readonly kind: 'page'
  readonly url: string
  readonly title: string
  /** The page as Markdown. */
  readonly text: string
  /** The page with the parts beside its article, as Markdown; "" if text leaves out none. */
  readonly whole: string
  /** Characters of whole that text leaves out. */
  readonly omitted: number
  /** What is selected in it. */
  readonly selection: string
  /** Frames of a size worth reading that belong to other sites. */
  readonly unreadFrames: number
}

/** Why there are no words of a video: it has none, or its site does not hand them out. */
export type NoTranscript = 'none' | 'refused'

/** Why there is nothing to read, or another way to read it. */
export type Found =
  | ReadPage
  | { readonly kind: 'pdf'; readonly url: string; readonly title: string }
  | { readonly kind: 'empty'; readonly unreadFrames: number }
  | { readonly kind: 'slow' }
  | { readonly kind: 'no-transcript'; readonly why: NoTranscript; readonly selection: string }
