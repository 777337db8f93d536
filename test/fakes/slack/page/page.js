import { blocks, h, rich } from '/render.js'

const $ = (id) => document.getElementById(id)

/** at is the current location of the person; it is stored in the URL. */
const at = Object.fromEntries(new URLSearchParams(location.hash.slice(1)))
let screen
let stream

/** act posts an action of the selected person and shows an error. */
async function act(name, fields = {}) {
  const body = JSON.stringify({ act: name, as: screen.me, channel: at.channel, ...fields })
  const answer = await fetch('/ui/act', { method: 'POST', body })
    .then((response) => response.json())
    .catch(() => ({ ok: false, error: '試験場につながりません。' }))
  if (!answer.ok) toast(answer.error)
  return answer
}

let hiding
function toast(text) {
  $('toast').textContent = text
  $('toast').hidden = false
  clearTimeout(hiding)
  hiding = setTimeout(() => {
    $('toast').hidden = true
  }, 6000)
}

/** go changes the current location and watches it. */
function go(change) {
  Object.assign(at, change)
  for (const name of Object.keys(at)) if (!at[name]) delete at[name]
  history.replaceState(null, '', `#${new URLSearchParams(at)}`)
  stream?.close()
  stream = new EventSource(`/ui/watch?${new URLSearchParams(at)}`)
  stream.onmessage = (event) => {
    screen = JSON.parse(event.data)
    if (at.channel) draw()
    else go({ as: screen.me, channel: screen.channels[0].id })
  }
}

/** keyed renders messages into a list and keeps the elements of unchanged messages. */
function keyed(list, messages, inThread) {
  const bottom = list.scrollHeight - list.scrollTop - list.clientHeight < 60
  const old = new Map([...list.children].map((element) => [element.dataset.json, element]))
  list.replaceChildren(
    ...messages.map((m) => {
      const json = JSON.stringify(m)
      const element = old.get(json) ?? message(m, inThread)
      element.dataset.json = json
      return element
    }),
  )
  if (bottom) list.scrollTop = list.scrollHeight
}

const button = (label, run, attributes) => h('button', { type: 'button', onclick: run, ...attributes }, label)

function message(m, inThread) {
  const person = screen.people[m.user]
  const press = (action) => act('click', { ts: m.ts, action })
  const time = new Date(m.ts * 1000).toLocaleTimeString('ja-JP', { hour: '2-digit', minute: '2-digit' })
  const notes = [
    time,
    person.guest && 'ゲスト',
    m.edited && '(編集済み)',
    m.ephemeral && 'あなただけに表示されています',
  ]
  const streams = m.streaming_state === 'in_progress'
  return h(
    'li',
    { class: m.ephemeral ? 'private' : '' },
    h('strong', {}, person.name),
    h('small', {}, notes.filter(Boolean).join(' ')),
    h(
      'div',
      { class: streams ? 'body caret' : 'body' },
      m.blocks ? blocks(m.blocks, screen.people, press) : rich(m.text, screen.people, false),
      m.streaming_state === 'errored' && h('p', { class: 'errored' }, '表示が途中で終わりました。'),
      (m.files ?? []).map((file) => h('p', {}, `📄 ${file.title}(${file.size.toLocaleString()} バイト)`)),
    ),
    !inThread && m.reply_count > 0 && button(`${m.reply_count} 件の返信`, () => go({ thread: m.ts })),
    !m.ephemeral &&
      h(
        'span',
        { class: 'tools' },
        !inThread && button('スレッド', () => go({ thread: m.ts })),
        button('要約', () => act('shortcut', { ts: m.ts, action: 'tsumugi_summarize' })),
        m.user === screen.me && button('編集', () => edit(m)),
        m.user === screen.me && button('削除', () => act('delete', { ts: m.ts })),
      ),
  )
}

/** edit asks for the new text of a message. */
function edit(m) {
  const entities = { '&lt;': '<', '&gt;': '>', '&amp;': '&' }
  const old = m.text
    .replace(/<@([A-Z0-9]+)>/g, (_, id) => `@${screen.people[id]?.handle ?? id}`)
    .replace(/&(?:lt|gt|amp);/g, (entity) => entities[entity])
  const text = prompt('メッセージを編集', old)
  if (text) act('edit', { ts: m.ts, text })
}

function sidebar() {
  const options = screen.accounts.map((id) => h('option', { value: id }, screen.people[id].name))
  if ($('as').children.length !== options.length) $('as').replaceChildren(...options)
  $('as').value = screen.me
  const entry = (label, to) => {
    const here = at.channel === to.channel && (at.tab ?? '') === (to.tab ?? '')
    return h(
      'li',
      {},
      button(label, () => go({ thread: '', tab: '', ...to }), { 'aria-current': here }),
    )
  }
  const name = (channel) =>
    `${channel.private ? '🔒' : '#'} ${channel.name}${channel.shared ? '(社外と共有)' : ''}`
  const entries = [
    ...screen.channels.map((channel) => [name(channel), { channel: channel.id }]),
    ['紡 Tsumugi', { channel: screen.direct }],
    ['紡 ホーム', { channel: screen.direct, tab: 'home' }],
  ]
  $('channels').replaceChildren(...entries.map(([label, to]) => entry(label, to)))
  const [label] = entries.find(([, to]) => to.channel === at.channel) ?? ['']
  $('title').replaceChildren(label)
  if (at.channel === screen.direct && at.tab !== 'home')
    $('title').append(
      button('新しいチャット', async () => {
        const { ok, channel, ts } = await act('assistant')
        if (ok) go({ channel, thread: ts })
      }),
    )
}

let opened
function draw() {
  sidebar()
  const home = at.tab === 'home'
  $('home').hidden = !home
  $('messages').hidden = $('composer').hidden = home
  if (home && opened !== screen.me) act('home')
  opened = home ? screen.me : undefined
  const view = screen.home?.blocks ?? []
  $('home').replaceChildren(...blocks(view, screen.people, () => {}))
  keyed($('messages'), screen.messages, false)
  $('thread').hidden = !at.thread
  if (at.thread) keyed($('replies'), screen.replies, true)
  const { text, state, title, prompts, stoppable } = screen.session ?? {}
  $('thread-title').textContent = title || 'スレッド'
  $('session').replaceChildren(
    ...(screen.replies.length < 2 ? (prompts ?? []) : []).map((one) =>
      button(one.title, () => act('say', { thread: at.thread, text: one.message })),
    ),
    text || state === 'processing' ? `Tsumugi ${text || 'が回答しています…'}` : '',
    stoppable ? button('停止', () => act('stop', { thread: at.thread })) : '',
  )
}

/** compose creates a message box: Enter sends, Shift+Enter inserts a line break. */
function compose(form, label, thread) {
  const text = h('textarea', { rows: 1, 'aria-label': label, placeholder: label })
  const picker = h('input', { type: 'file', multiple: true, 'aria-label': 'ファイルを添付する' })
  const mention = button('@Tsumugi', () => {
    text.setRangeText('@Tsumugi ', text.selectionStart, text.selectionEnd, 'end')
    text.focus()
  })
  form.append(text, mention, picker, h('button', { class: 'primary' }, '送信'))
  text.onkeydown = (event) => {
    if (event.key !== 'Enter' || event.shiftKey || event.isComposing || event.keyCode === 229) return
    event.preventDefault()
    form.requestSubmit()
  }
  form.onsubmit = async (event) => {
    event.preventDefault()
    const said = text.value.trim()
    if (!said && !picker.files.length) return
    const files = await Promise.all([...picker.files].map(upload))
    form.reset()
    const answer = await act('say', { text: said, files, thread: thread() })
    if (!answer.ok && !text.value) text.value = said
  }
}

/** upload reads a file in the form of a say action. */
async function upload(file) {
  const bytes = new Uint8Array(await file.arrayBuffer())
  return { Name: file.name, Content: btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join('')) }
}

compose($('composer'), 'メッセージを書く', () => '')
compose($('reply'), '返信する', () => at.thread)
$('as').onchange = () => go({ as: $('as').value, channel: '', thread: '', tab: '' })
$('close').onclick = () => go({ thread: '' })
go({})
