/** Passage is a selected part of an answer. */
export interface Passage {
  readonly text: string
  readonly range: Range
}

/** The maximum length of a quoted passage, in characters. */
const maxLength = 2000

/** selectedPassage returns the selection if it is a passage within one answer in `root`; otherwise null. */
export function selectedPassage(root: Element): Passage | null {
  const selection = getSelection()
  if (selection === null || selection.isCollapsed || selection.rangeCount === 0) return null
  const range = selection.getRangeAt(0)
  const answer = answerOf(range.startContainer, root)
  // A selection by a triple click ends at the start of the next block, which may be outside.
  const text = selection.toString().trim()
  if (answer === null || text === '' || answer !== answerOf(lastNode(range), root)) return null
  return { text, range }
}

function answerOf(node: Node, root: Element): Element | null {
  const element = node instanceof Element ? node : node.parentElement
  const answer = element?.closest('[data-passages]') ?? null
  return answer !== null && root.contains(answer) ? answer : null
}

function lastNode({ startContainer, endContainer, endOffset }: Range): Node {
  return endOffset === 0 ? startContainer : endContainer
}

/** quoted returns a passage as a Markdown quotation. */
export function quoted(text: string): string {
  const characters = [...text]
  const short = characters.length > maxLength ? `${characters.slice(0, maxLength).join('')}…` : text
  return short.replace(/\n{3,}/g, '\n\n').replace(/^/gm, '> ')
}
