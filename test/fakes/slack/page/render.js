// Renders mrkdwn, Markdown and blocks as elements. No text is parsed as HTML.

/** h makes an element. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
    else element.setAttribute(name, value)
  }
  element.append(...children.flat().filter(Boolean))
  return element
}

const entities = { '&lt;': '<', '&gt;': '>', '&amp;': '&' }
const decode = (text) => text.replace(/&(?:lt|gt|amp);/g, (entity) => entities[entity])

const link = (url, label) => h('a', { href: url, target: '_blank', rel: 'noreferrer' }, decode(label))

/** control shows a control sequence such as <@U…>, <!here> or <https://…|label>, without its brackets. */
function control(inner, people) {
  const [target, label] = inner.split('|')
  if (/^https?:/.test(target)) return link(target, label ?? target)
  if (target[0] === '@')
    return h('span', { class: 'mention' }, `@${people[target.slice(1)]?.name ?? target.slice(1)}`)
  return h('span', { class: 'mention' }, `@${label ?? target.slice(1)}`)
}

/** inline shows a line of text in Markdown, or in mrkdwn. */
function inline(text, people, markdown) {
  const nested = (tag) => (m) => h(tag, {}, ...inline(m[1], people, markdown))
  const marks = [
    [/`([^`]+)`/, (m) => h('code', {}, decode(m[1]))],
    [/<([^<>\n]+)>/, (m) => control(m[1], people)],
    [/\[([^\]\n]+)\]\((https?:\/\/[^)\s]+)\)/, (m) => link(m[2], m[1])],
    [markdown ? /\*\*([^*\n]+)\*\*/ : /\*([^*\n]+)\*/, nested('strong')],
    [markdown ? /~~([^~\n]+)~~/ : /~([^~\n]+)~/, nested('s')],
    [/https?:\/\/[^\s<>|)\]"'`、。)]+/, (m) => link(m[0], m[0])],
  ]
  const found = []
  for (let rest = text; ; ) {
    let first
    for (const [pattern, make] of marks) {
      const match = pattern.exec(rest)
      if (match && (!first || match.index < first.match.index)) first = { match, make }
    }
    if (!first) return [...found, decode(rest)]
    found.push(decode(rest.slice(0, first.match.index)), first.make(first.match))
    rest = rest.slice(first.match.index + first.match[0].length)
  }
}

/** The lines that begin a block of text, with its element. Consecutive lines of a list become one element. */
const starts = [
  [/^#{1,6} /, 'h3'],
  [/^\s*[-*•] /, 'ul'],
  [/^\s*\d+[.)] /, 'ol'],
  [/^(?:>|&gt;) ?/, 'blockquote'],
]

/** rich shows a text with its code, lists, quotes and headings. */
export function rich(text, people, markdown) {
  const shown = []
  const lines = text.split('\n')
  for (let i = 0; i < lines.length; i++) {
    if (lines[i].startsWith('```')) {
      const code = []
      while (++i < lines.length && !lines[i].startsWith('```')) code.push(lines[i])
      shown.push(h('pre', { tabindex: 0 }, h('code', {}, decode(code.join('\n')))))
      continue
    }
    const [start, tag] = starts.find(([pattern]) => pattern.test(lines[i])) ?? [/^/, 'p']
    const content = inline(lines[i].replace(start, ''), people, markdown)
    const last = shown.at(-1)
    if (tag === 'ul' || tag === 'ol') {
      const list = last?.localName === tag ? last : h(tag)
      list.append(h('li', {}, ...content))
      if (list !== last) shown.push(list)
    } else if (lines[i].trim()) shown.push(h(tag, {}, ...content))
  }
  return shown
}

/** textObject shows a text object of a block. */
const textObject = (object, people) =>
  object.type === 'mrkdwn' ? rich(object.text, people, false) : [h('p', {}, object.text)]

/** button shows a button of an actions block; press is called with its action_id. */
function button(item, press) {
  const onclick = () => {
    if (item.url) window.open(item.url, '_blank', 'noreferrer')
    press(item.action_id)
  }
  return h('button', { type: 'button', class: item.style ?? '', onclick }, item.text.text)
}

/** blocks shows the blocks of a message or a view. */
export function blocks(list, people, press) {
  return list.flatMap((item) => {
    switch (item.type) {
      case 'markdown':
        return rich(item.text, people, true)
      case 'header':
        return [h('h3', {}, item.text.text)]
      case 'divider':
        return [h('hr')]
      case 'section':
        return textObject(item.text, people)
      case 'context':
        return [h('small', {}, ...item.elements.flatMap((one) => textObject(one, people)))]
      default:
        return [h('p', {}, ...item.elements.map((one) => button(one, press)))]
    }
  })
}
