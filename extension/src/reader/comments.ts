/**
 * The elements that can hold comments: items, and lists of them, including custom elements such as shreddit-comment.
 */
const containers = /^(?:article|section|div|ol|ul|li|dl|table|[a-z]+-[a-z-]+)$/

/** The words in ids and classes of comments and lists of comments. "answer" also names parts of articles. */
const names = new Set(['comment', 'comments', 'reply', 'replies', 'answers'])

/** The words in ids and classes of parts around comments, and of counters and lists of links to them. */
const around = new Set(['form', 'count', 'counter', 'recent', 'latest', 'policy', 'respond', 'editor'])

/** The maximum proportion of links in comments. A list of a site's newest comments consists of links. */
const mostLinks = 0.5

/** takeComments moves the comments of a document into a new element. Without comments it returns null. */
export function takeComments(copy: Document): Element | null {
  // An element that contains these is the page, even if its name refers to its comments.
  const page = copy.body.querySelector('h1, main, [itemprop~="articleBody"]')
  const found: Element[] = []
  for (const element of copy.body.querySelectorAll('*'))
    if (!found.at(-1)?.contains(element) && !element.contains(page) && areComments(element))
      found.push(element)
  if (found.length === 0) return null
  const taken = copy.createElement('section')
  taken.append(...found)
  return taken
}

function areComments(element: Element): boolean {
  if (!containers.test(element.localName) || element.closest('pre, code, nav, header') !== null) return false
  if (!isMarked(element) && !isNamed(element)) return false
  const length = lengthOf(element)
  const links = [...element.querySelectorAll('a')].reduce((sum, link) => sum + lengthOf(link), 0)
  return length > 0 && links / length <= mostLinks
}

/** isMarked reports whether the markup declares an element as a comment. */
function isMarked(element: Element): boolean {
  return (
    element.getAttribute('role') === 'comment' ||
    /(?:^|\s)comment(?:\s|$)/.test(element.getAttribute('itemprop') ?? '') ||
    /schema\.org\/Comment\b/.test(element.getAttribute('itemtype') ?? '')
  )
}

function isNamed(element: Element): boolean {
  const named = [element.localName.includes('-') ? element.localName : '', element.id, ...element.classList]
  return named.some((name) => {
    const words = wordsOf(name)
    return words.some((word) => names.has(word)) && !words.some((word) => around.has(word))
  })
}

/** wordsOf splits a name such as "CommentList_item-2" into lower-case words. */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z\d])([A-Z])/g, '$1 $2')
    .toLowerCase()
    .split(/[^a-z]+/)
}

function lengthOf({ textContent }: Element): number {
  return (textContent ?? '').replace(/\s+/g, '').length
}
