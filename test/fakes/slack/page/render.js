// Renders mrkdwn, Markdown and blocks as elements. No text is parsed as HTML.

/** h makes an element. */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag)
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value)
    else if (name === 'class') element.className = value
    else if (value !== undefined && value !== false) element.setAttribute(name, value === true ? '' : value)
  }
  element.append(...children.flat().filter((child) => child || child === 0))
  return element
}

const entities = { '&lt;': '<', '&gt;': '>', '&amp;': '&' }
const decode = (text) => text.replace(/&(?:lt|gt|amp);/g, (entity) => entities[entity])

const link = (url, label) => h('a', { href: url, target: '_blank', rel: 'noreferrer' }, decode(label))

/** control shows a control sequence such as <@U…>, <!here> or <https://…|label>, without its brackets. */
function control(inner, people) {
  const [target, label] = inner.split('|')
  if (target[0] === '@')
    return h('span', { class: 'mention' }, `@${people[target.slice(1)]?.name ?? target.slice(1)}`)
  if (target[0] === '!') return h('span', { class: 'mention' }, `@${label ?? target.slice(1).split('^')[0]}`)
  if (target[0] === '#') return h('span', { class: 'mention' }, `#${label ?? target.slice(1)}`)
  if (/^(https?:|mailto:)/.test(target)) return link(target, label ?? target)
  return `<${inner}>`
}

/** inline shows a line of text; style is mrkdwn or markdown. */
function inline(text, people, style) {
  const marks = [
    [/`([^`]+)`/, (m) => h('code', {}, decode(m[1]))],
    [/<([^<>\n]+)>/, (m) => control(m[1], people)],
    ...(style === 'markdown'
      ? [
          [/\[([^\]\n]+)\]\((https?:\/\/[^)\s]+)\)/, (m) => link(m[2], m[1])],
          [/\*\*([^*\n]+)\*\*/, (m) => h('strong', {}, ...inline(m[1], people, style))],
          [/~~([^~\n]+)~~/, (m) => h('s', {}, ...inline(m[1], people, style))],
          [/(?<![*\w])\*([^*\n]+)\*(?!\*)/, (m) => h('em', {}, ...inline(m[1], people, style))],
        ]
      : [
          [/(?<![\w*])\*([^*\n]+)\*(?![\w*])/, (m) => h('strong', {}, ...inline(m[1], people, style))],
          [/(?<![\w~])~([^~\n]+)~(?![\w~])/, (m) => h('s', {}, ...inline(m[1], people, style))],
        ]),
    [/(?<!\w)_([^_\n]+)_(?!\w)/, (m) => h('em', {}, ...inline(m[1], people, style))],
    [/https?:\/\/[^\s<>|)\]"'`、。)]+/, (m) => link(m[0], m[0])],
  ]
  const found = []
  let rest = text
  while (rest) {
    let first
    for (const [pattern, make] of marks) {
      const match = pattern.exec(rest)
      if (match && (!first || match.index < first.match.index)) first = { match, make }
    }
    if (!first) break
    found.push(decode(rest.slice(0, first.match.index)), first.make(first.match))
    rest = rest.slice(first.match.index + first.match[0].length)
  }
  return [...found, decode(rest)]
}

const cells = (line) =>
  line
    .trim()
    .replace(/^\||\|$/g, '')
    .split('|')
    .map((cell) => cell.trim())

/** rich shows a text with its code, lists, quotes, headings and tables. */
export function rich(text, people, style) {
  const lines = text.split('\n')
  const shown = []
  let i = 0
  const take = (test) => {
    const taken = []
    while (i < lines.length && test.test(lines[i])) taken.push(lines[i++])
    return taken
  }
  const line = (content) => inline(content, people, style)
  while (i < lines.length) {
    const current = lines[i]
    const fence = /^\s*(`{3,}|~{3,})(.*)$/.exec(current)
    if (fence) {
      const code = []
      for (i++; i < lines.length && !lines[i].trim().startsWith(fence[1]); i++) code.push(lines[i])
      i++
      shown.push(h('pre', { tabindex: 0 }, h('code', {}, decode(code.join('\n')))))
    } else if (
      style === 'markdown' &&
      current.includes('|') &&
      /^\s*\|?[\s:|-]+\|[\s:|-]*$/.test(lines[i + 1] ?? '')
    ) {
      const head = cells(current)
      i += 2
      const rows = take(/\|/).map(cells)
      shown.push(
        h(
          'div',
          { class: 'scroll', tabindex: 0 },
          h(
            'table',
            {},
            h(
              'thead',
              {},
              h(
                'tr',
                {},
                head.map((cell) => h('th', {}, ...line(cell))),
              ),
            ),
            h(
              'tbody',
              {},
              rows.map((row) =>
                h(
                  'tr',
                  {},
                  row.map((cell) => h('td', {}, ...line(cell))),
                ),
              ),
            ),
          ),
        ),
      )
    } else if (/^#{1,6} /.test(current) && style === 'markdown') {
      shown.push(h('h3', {}, ...line(current.replace(/^#+ /, ''))))
      i++
    } else if (/^\s*[-*•] /.test(current)) {
      shown.push(
        h(
          'ul',
          {},
          take(/^\s*[-*•] /).map((item) => h('li', {}, ...line(item.replace(/^\s*[-*•] /, '')))),
        ),
      )
    } else if (/^\s*\d+[.)] /.test(current)) {
      const start = Number.parseInt(current, 10)
      shown.push(
        h(
          'ol',
          { start },
          take(/^\s*\d+[.)] /).map((item) => h('li', {}, ...line(item.replace(/^\s*\d+[.)] /, '')))),
        ),
      )
    } else if (/^(>|&gt;) ?/.test(current)) {
      shown.push(
        h(
          'blockquote',
          {},
          take(/^(>|&gt;)/).map((quote) => h('div', {}, ...line(quote.replace(/^(>|&gt;) ?/, '')))),
        ),
      )
    } else if (/^(---|\*\*\*)$/.test(current.trim())) {
      shown.push(h('hr'))
      i++
    } else if (!current.trim()) {
      i++
    } else {
      const paragraph = [current]
      for (
        i++;
        i < lines.length &&
        lines[i].trim() &&
        !/^(\s*[-*•] |\s*\d+[.)] |#{1,6} |>|&gt;|\s*```|\|)/.test(lines[i]);
        i++
      ) {
        paragraph.push(lines[i])
      }
      shown.push(
        h(
          'p',
          {},
          paragraph.flatMap((part, n) => [...(n ? [h('br')] : []), ...line(part)]),
        ),
      )
    }
  }
  return shown
}

const label = (object) => object?.text ?? ''

/** textObject shows a text object of a block. */
const textObject = (object, people) =>
  object?.type === 'mrkdwn' ? rich(object.text, people, 'mrkdwn') : [h('p', {}, label(object))]

/** button shows an element of an actions block; press is called with its action_id and value. */
function element(item, press) {
  switch (item.type) {
    case 'button':
      return h(
        'button',
        {
          type: 'button',
          class: { primary: 'primary', danger: 'danger' }[item.style] ?? '',
          onclick: () => {
            if (item.url) window.open(item.url, '_blank', 'noreferrer')
            press(item.action_id, item.value ?? '')
          },
        },
        label(item.text),
      )
    case 'icon_button':
      return h(
        'button',
        { type: 'button', onclick: () => press(item.action_id, item.value ?? '') },
        label(item.text),
      )
    case 'feedback_buttons':
      return h(
        'span',
        { class: 'buttons' },
        [
          ['positive_button', '👍'],
          ['negative_button', '👎'],
        ].map(([name, icon]) =>
          h(
            'button',
            {
              type: 'button',
              'aria-label': label(item[name]?.text),
              title: label(item[name]?.text),
              onclick: () => press(item.action_id, item[name]?.value ?? ''),
            },
            icon,
          ),
        ),
      )
    default:
      return h('span', {}, label(item.text))
  }
}

/** richText shows the elements of a rich_text block. */
function richText(items, people) {
  return (items ?? []).map((item) => {
    switch (item.type) {
      case 'rich_text_section':
        return h('p', {}, ...richText(item.elements, people))
      case 'rich_text_list':
        return h(
          item.style === 'ordered' ? 'ol' : 'ul',
          {},
          item.elements.map((one) => h('li', {}, ...richText([one], people))),
        )
      case 'rich_text_preformatted':
        return h('pre', { tabindex: 0 }, h('code', {}, ...richText(item.elements, people)))
      case 'rich_text_quote':
        return h('blockquote', {}, ...richText(item.elements, people))
      case 'link':
        return link(item.url, item.text ?? item.url)
      case 'user':
        return control(`@${item.user_id}`, people)
      case 'broadcast':
        return control(`!${item.range}`, people)
      case 'text': {
        const tag = item.style?.code
          ? 'code'
          : item.style?.bold
            ? 'strong'
            : item.style?.italic
              ? 'em'
              : 'span'
        return h(tag, {}, item.text)
      }
      default:
        return item.text ?? ''
    }
  })
}

/** block shows a block. inputs collects the fields of a modal. */
export function block(item, people, press, inputs) {
  switch (item.type) {
    case 'markdown':
      return rich(item.text, people, 'markdown')
    case 'header':
      return [h('h3', {}, label(item.text))]
    case 'divider':
      return [h('hr')]
    case 'section':
      return [
        ...(item.text ? textObject(item.text, people) : []),
        ...(item.fields ?? []).flatMap((field) => textObject(field, people)),
        ...(item.accessory ? [h('div', { class: 'buttons' }, element(item.accessory, press))] : []),
      ]
    case 'context':
      return [
        h(
          'div',
          { class: 'context' },
          item.elements.map((one) => h('span', {}, ...textObject(one, people))),
        ),
      ]
    case 'actions':
    case 'context_actions':
      return [
        h(
          'div',
          { class: 'buttons' },
          item.elements.map((one) => element(one, press)),
        ),
      ]
    case 'rich_text':
      return richText(item.elements, people)
    case 'table':
      return [
        h(
          'div',
          { class: 'scroll', tabindex: 0 },
          h(
            'table',
            {},
            h(
              'tbody',
              {},
              item.rows.map((row) =>
                h(
                  'tr',
                  {},
                  row.map((cell) =>
                    h('td', {}, cell.type === 'raw_text' ? cell.text : richText(cell.elements, people)),
                  ),
                ),
              ),
            ),
          ),
        ),
      ]
    case 'input':
      return [input(item, inputs)]
    default:
      return [h('p', {}, `(${item.type})`)]
  }
}

function input(item, inputs) {
  const { type, action_id, multiline, placeholder, initial_value, options } = item.element
  let field
  if (type === 'static_select' || type === 'radio_buttons') {
    field = h(
      'select',
      {},
      options.map((option) => h('option', { value: option.value }, label(option.text))),
    )
  } else {
    field = h(multiline ? 'textarea' : 'input', {
      placeholder: label(placeholder) || undefined,
      rows: multiline ? 5 : undefined,
    })
    field.value = initial_value ?? ''
  }
  field.required = !item.optional
  inputs?.push(() => [
    item.block_id,
    action_id,
    options
      ? { type, selected_option: options.find((option) => option.value === field.value) }
      : { type, value: field.value || null },
  ])
  return h('label', {}, label(item.label), field)
}
