import { h } from '/render.js'

/** compose creates a message box: Enter sends, Shift+Enter inserts a line break, @ and / open suggestions. */
export function compose(form, place, send) {
  const text = h('textarea', {
    rows: 1,
    'aria-label': form.id === 'reply' ? 'スレッドに返信する' : 'メッセージ',
    placeholder: form.id === 'reply' ? '返信する…' : 'メッセージを書く',
  })
  const picker = h('input', { type: 'file', multiple: true, hidden: true })
  const chosen = h('span')
  const list = h('ul', { class: 'suggest', role: 'listbox', hidden: true })
  let selected = 0
  form.append(
    list,
    text,
    picker,
    h(
      'div',
      { class: 'row' },
      h(
        'button',
        { type: 'button', class: 'icon', 'aria-label': 'ファイルを添付する', onclick: () => picker.click() },
        '📎',
      ),
      h(
        'button',
        { type: 'button', class: 'icon', 'aria-label': 'アプリに呼びかける', onclick: () => mention() },
        '@',
      ),
      chosen,
      h('button', { class: 'primary' }, '送信'),
    ),
  )
  picker.onchange = () => {
    chosen.textContent = [...picker.files].map((file) => file.name).join('、')
  }

  function mention() {
    const app = place.screen.apps[0]
    if (app)
      text.setRangeText(
        `@${place.screen.people[app.bot].handle} `,
        text.selectionStart,
        text.selectionEnd,
        'end',
      )
    text.focus()
  }

  /** candidates returns the suggestions for the word before the caret. */
  function candidates() {
    const word = /(?:^|\s)([@/]\S*)$/.exec(text.value.slice(0, text.selectionStart))?.[1]
    if (!word) return { word: '', found: [] }
    const all =
      word[0] === '@'
        ? Object.values(place.screen.people).map((person) => [`@${person.handle}`, person.name])
        : text.value.startsWith('/') && form.id !== 'reply'
          ? place.screen.apps
              .flatMap((app) => app.commands ?? [])
              .map((command) => [command.name, command.description])
          : []
    return {
      word,
      found: all
        .filter(
          ([name, label]) => name !== word && (name.startsWith(word) || label.startsWith(word.slice(1))),
        )
        .slice(0, 6),
    }
  }

  function suggest() {
    const { found } = candidates()
    selected = Math.min(selected, Math.max(found.length - 1, 0))
    list.hidden = !found.length
    list.replaceChildren(
      ...found.map(([name, label], i) =>
        h(
          'li',
          {
            role: 'option',
            'aria-selected': String(i === selected),
            onmousedown: (event) => {
              event.preventDefault()
              choose(name)
            },
          },
          `${name} `,
          h('small', {}, label),
        ),
      ),
    )
  }

  function choose(name) {
    const { word } = candidates()
    text.setRangeText(`${name} `, text.selectionStart - word.length, text.selectionStart, 'end')
    suggest()
  }

  text.oninput = () => {
    selected = 0
    suggest()
  }
  text.onblur = () => {
    list.hidden = true
  }
  text.onkeydown = (event) => {
    if (event.isComposing || event.keyCode === 229) return
    if (!list.hidden && ['ArrowDown', 'ArrowUp', 'Tab', 'Enter', 'Escape'].includes(event.key)) {
      event.preventDefault()
      event.stopPropagation()
      const { found } = candidates()
      if (event.key === 'Escape') list.hidden = true
      else if (event.key.startsWith('Arrow')) {
        selected = (selected + (event.key === 'ArrowDown' ? 1 : found.length - 1)) % found.length
        suggest()
      } else choose(found[selected][0])
      return
    }
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault()
      form.requestSubmit()
    }
  }
  form.onsubmit = async (event) => {
    event.preventDefault()
    const said = text.value.trim()
    if (!said && !picker.files.length) return
    const files = await Promise.all(
      [...picker.files].map(async (file) => ({ Name: file.name, Content: await base64(file) })),
    )
    text.value = ''
    picker.value = ''
    chosen.textContent = ''
    suggest()
    const answer = await send(said, files)
    if (!answer.ok && !text.value) text.value = said
  }
}

const base64 = (file) =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.onload = () => resolve(String(reader.result).split(',')[1] ?? '')
    reader.onerror = () => reject(reader.error)
    reader.readAsDataURL(file)
  })
