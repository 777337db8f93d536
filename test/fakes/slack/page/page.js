import { compose } from '/compose.js'
import { block, h, rich } from '/render.js'

const $ = (id) => document.getElementById(id)

/** at is the current location of the person; it is stored in the URL. */
const at = Object.fromEntries(new URLSearchParams(location.hash.slice(1)))
let screen = { people: {}, channels: [], apps: [], accounts: [], modals: [] }
let stream

/** act posts an action of the selected person and shows an error. */
async function act(name, fields = {}) {
  try {
    const response = await fetch('/ui/act', {
      method: 'POST',
      body: JSON.stringify({ act: name, as: screen.me, channel: at.channel, ...fields }),
    })
    const answer = await response.json()
    if (!answer.ok) toast(answer.error)
    return answer
  } catch {
    toast('試験場につながりません。')
    return { ok: false }
  }
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

/** go changes the current location. */
function go(change) {
  Object.assign(at, change)
  for (const name of Object.keys(at)) if (!at[name]) delete at[name]
  history.replaceState(null, '', `#${new URLSearchParams(at)}`)
  $('app').classList.remove('menu')
  watch()
}

function watch() {
  stream?.close()
  const query = new URLSearchParams({ as: at.as ?? '', channel: at.channel ?? '', thread: at.thread ?? '' })
  stream = new EventSource(`/ui/watch?${query}`)
  stream.onmessage = (event) => {
    screen = JSON.parse(event.data)
    if (!at.channel && screen.channels.length) return go({ as: screen.me, channel: screen.channels[0].id })
    draw()
  }
}

/** keyed renders items into a list and keeps the elements of unchanged items. */
function keyed(list, items, make, empty) {
  const bottom = list.scrollHeight - list.scrollTop - list.clientHeight < 60
  const old = new Map([...list.children].map((element) => [element.dataset.key, element]))
  let previous = null
  for (const [key, item] of items) {
    const json = JSON.stringify(item)
    let element = old.get(key)
    if (element?.dataset.json !== json) {
      const next = make(item)
      next.dataset.key = key
      next.dataset.json = json
      if (element) element.replaceWith(next)
      element = next
    }
    old.delete(key)
    const after = previous ? previous.nextSibling : list.firstChild
    if (after !== element) list.insertBefore(element, after)
    previous = element
  }
  for (const element of old.values()) element.remove()
  if (!items.length) list.append(h('li', { class: 'empty' }, empty))
  if (bottom) list.scrollTop = list.scrollHeight
}

const hues = [172, 210, 262, 322, 14, 40, 96]
const hue = (id) => hues[[...id].reduce((sum, c) => sum + c.charCodeAt(0), 0) % hues.length]

const clock = (ts) =>
  new Date(Number(ts) * 1000).toLocaleTimeString('ja-JP', { hour: '2-digit', minute: '2-digit' })

function message(m, inThread) {
  const person = screen.people[m.user] ?? { name: '連携', kind: 'アプリ' }
  const app = screen.apps[0]
  const press = (action, value) => act('click', { ts: m.ts, action, value })
  const blocks = (m.blocks ?? []).flatMap((one) => block(one, screen.people, press))
  const body = blocks.length
    ? blocks
    : m.markdown
      ? rich(m.markdown, screen.people, 'markdown')
      : rich(m.text, screen.people, 'mrkdwn')
  const own = m.user === screen.me
  const tool = (label, run) => h('button', { type: 'button', onclick: run }, label)
  return h(
    'li',
    { class: `message${m.ephemeral ? ' private' : ''}` },
    h(
      'span',
      {
        class: 'avatar',
        style: `background: oklch(52% 0.11 ${hue(m.user ?? m.bot_id ?? '')})`,
        'aria-hidden': true,
      },
      person.bot ? '紡' : person.name[0],
    ),
    h(
      'div',
      { class: 'head' },
      h('strong', {}, person.name),
      person.kind && h('span', { class: 'badge' }, person.kind),
      h('small', {}, clock(m.ts)),
      m.edited && h('small', {}, '(編集済み)'),
      m.ephemeral && h('small', {}, 'あなただけに表示されています'),
    ),
    h(
      'div',
      { class: `body${m.streaming_state === 'in_progress' ? ' caret' : ''}` },
      body,
      m.streaming_state === 'errored' && h('p', { class: 'errored' }, '表示が途中で終わりました。'),
      (m.files ?? []).map((file) =>
        h(
          'p',
          {},
          h(
            'span',
            { class: 'file' },
            `📄 ${file.title}`,
            h('small', {}, `${file.size.toLocaleString()} バイト`),
          ),
        ),
      ),
      m.reactions &&
        h(
          'p',
          { class: 'reactions' },
          m.reactions.map((one) => h('span', {}, `${one.name === '+1' ? '👍' : `:${one.name}:`}`)),
        ),
    ),
    !inThread &&
      m.reply_count > 0 &&
      h(
        'button',
        { class: 'more', type: 'button', onclick: () => go({ thread: m.ts }) },
        `${m.reply_count} 件の返信`,
      ),
    !m.ephemeral &&
      h(
        'div',
        { class: 'tools' },
        !inThread && tool('スレッド', () => go({ thread: m.ts })),
        tool('👍', () => act('react', { ts: m.ts, value: '+1' })),
        (app?.shortcuts ?? []).map((one) =>
          tool(one.name, () => act('shortcut', { app: app.id, ts: m.ts, action: one.id })),
        ),
        own && tool('編集', () => edit(m)),
        own && tool('削除', () => act('delete', { ts: m.ts })),
      ),
  )
}

/** edit asks for the new text of a message. */
function edit(m) {
  const text = h('textarea', { rows: 5, 'aria-label': 'メッセージ' })
  text.value = m.text
    .replace(/<@([A-Z0-9]+)>/g, (_, id) => `@${screen.people[id]?.handle ?? id}`)
    .replace(/&lt;/g, '<')
    .replace(/&gt;/g, '>')
    .replace(/&amp;/g, '&')
  dialog('メッセージを編集', [text], '保存する', () => act('edit', { ts: m.ts, text: text.value }))
}

function dialog(title, fields, submit, done, closed = () => {}) {
  const box = $('modal')
  box.replaceChildren(
    h('h2', {}, title),
    h(
      'form',
      {
        onsubmit: async (event) => {
          event.preventDefault()
          if ((await done())?.ok !== false) box.close()
        },
      },
      fields,
      h(
        'div',
        { class: 'row' },
        h(
          'button',
          {
            type: 'button',
            onclick: () => {
              closed()
              box.close()
            },
          },
          'キャンセル',
        ),
        submit && h('button', { class: 'primary' }, submit),
      ),
    ),
  )
  box.showModal()
}

/** modals shows the modal opened by an app. */
function modals() {
  const box = $('modal')
  const modal = screen.modals.at(-1)
  if (!modal) {
    if (box.dataset.view) box.close()
    delete box.dataset.view
    return
  }
  if (box.dataset.view === modal.id) return
  box.dataset.view = modal.id
  const inputs = []
  const fields = modal.view.blocks.flatMap((one) =>
    block(one, screen.people, (action, value) => act('click', { view: modal.id, action, value }), inputs),
  )
  dialog(
    modal.view.title.text,
    fields,
    modal.view.submit?.text,
    async () => {
      const values = {}
      for (const read of inputs) {
        const [at, action, value] = read()
        values[at] = { ...values[at], [action]: value }
      }
      const answer = await act('submit', { view: modal.id, values })
      const wrong = Object.values(answer.errors ?? {})
      if (wrong.length) toast(wrong.join(' '))
      return { ok: answer.ok && !wrong.length }
    },
    () => act('close', { view: modal.id }),
  )
}

function sidebar() {
  $('team').textContent = screen.team
  const options = screen.accounts.map((id) => [
    id,
    `${screen.people[id].name}${screen.people[id].kind ? `(${screen.people[id].kind})` : ''}`,
  ])
  if ($('as').dataset.json !== JSON.stringify(options)) {
    $('as').dataset.json = JSON.stringify(options)
    $('as').replaceChildren(...options.map(([value, label]) => h('option', { value }, label)))
  }
  $('as').value = screen.me
  const entry = (id, label, run) =>
    h(
      'li',
      {},
      h('button', { type: 'button', 'aria-current': at.channel === id && 'true', onclick: run }, label),
    )
  $('channels').replaceChildren(
    ...screen.channels.map((channel) =>
      entry(
        channel.id,
        `${channel.private ? '🔒' : '#'} ${channel.name}${channel.shared ? '(社外と共有)' : ''}`,
        () => go({ channel: channel.id, thread: '', tab: '' }),
      ),
    ),
  )
  $('apps').replaceChildren(
    ...screen.apps.map((app) => entry(app.direct, `紡 ${app.name}`, () => visit(app))),
  )
}

/** visit opens the direct message with an app. */
async function visit(app, tab = 'messages') {
  const { channel, ok } = await act('direct', { app: app.id })
  if (!ok) return
  go({ channel, thread: '', tab: tab === 'home' ? 'home' : '' })
  if (tab === 'home') act('home', { app: app.id })
}

function header(app, channel) {
  $('title').textContent = app ? app.name : channel ? `${channel.private ? '🔒 ' : '# '}${channel.name}` : ''
  $('about').textContent = app
    ? 'アプリとのダイレクトメッセージ'
    : channel
      ? `${channel.members} 人${channel.shared ? '・ほかの会社と共有' : ''}`
      : ''
  $('tabs').hidden = $('new-chat').hidden = !app
  for (const tab of document.querySelectorAll('#tabs button'))
    tab.setAttribute('aria-selected', String(tab.dataset.tab === (at.tab || 'messages')))
  const absent = channel?.absent ?? []
  $('absent').hidden = !absent.length
  $('absent').replaceChildren(
    ...absent.flatMap((bot) => [
      `${screen.people[bot].name} はこのチャンネルにいません。`,
      h('button', { type: 'button', onclick: () => act('join', { value: bot }) }, '招待する'),
    ]),
  )
}

function draw() {
  const app = screen.apps.find((one) => one.direct && one.direct === at.channel)
  const channel = screen.channels.find((one) => one.id === at.channel)
  sidebar()
  header(app, channel)
  const home = Boolean(app && at.tab === 'home')
  $('home').hidden = !home
  $('messages').hidden = $('composer').hidden = home
  if (home && $('home').dataset.json !== JSON.stringify(app.home)) {
    $('home').dataset.json = JSON.stringify(app.home)
    $('home').replaceChildren(
      h(
        'div',
        { class: 'body' },
        app.home
          ? app.home.view.blocks.flatMap((one) =>
              block(one, screen.people, (action, value) =>
                act('click', { view: app.home.id, action, value }),
              ),
            )
          : h('p', { class: 'empty' }, 'ホームはまだ公開されていません。'),
      ),
    )
  }
  keyed(
    $('messages'),
    (screen.messages ?? []).map((m) => [m.ts, m]),
    (m) => message(m, false),
    'まだメッセージがありません。',
  )
  $('thread').hidden = !at.thread
  $('app').classList.toggle('threaded', Boolean(at.thread))
  if (at.thread) {
    keyed(
      $('replies'),
      (screen.replies ?? []).map((m) => [m.ts, m]),
      (m) => message(m, true),
      'このスレッドは見つかりません。',
    )
    session()
  }
  modals()
}

/** session shows an app's status in the thread. */
function session() {
  const here = (screen.sessions ?? []).filter((one) => one.thread === at.thread)
  $('thread-title').textContent = here.map((one) => one.title).join(' ')
  $('session').replaceChildren(
    ...here
      .flatMap((one) => {
        const name = screen.apps.find((app) => app.id === one.app)?.name ?? ''
        const working = one.text || one.state === 'processing'
        return [
          one.prompts &&
            (screen.replies ?? []).length < 2 &&
            h(
              'div',
              { class: 'prompts' },
              one.promptsTitle && h('small', {}, one.promptsTitle),
              one.prompts.map((prompt) =>
                h(
                  'button',
                  { type: 'button', onclick: () => act('say', { thread: at.thread, text: prompt.message }) },
                  prompt.title,
                ),
              ),
            ),
          working &&
            h(
              'div',
              { class: 'work' },
              `${name} ${one.text || 'が回答しています…'}`,
              one.stoppable &&
                h(
                  'button',
                  { type: 'button', onclick: () => act('stop', { app: one.app, thread: at.thread }) },
                  '停止',
                ),
            ),
        ]
      })
      .filter(Boolean),
  )
}

const control = (what, fields) => fetch(`/control/${what}`, { method: 'POST', body: JSON.stringify(fields) })
const second = 1e9
for (const [label, what, fields] of [
  [
    '次の書き込みを 7 秒断る(429)',
    'fail',
    { fault: { Method: 'chat.appendStream', Status: 429, RetryAfter: 7 * second } },
  ],
  [
    '次の 3 回の書き込みを 503 にする',
    'fail',
    { fault: { Method: 'chat.appendStream', Status: 503, Times: 3 } },
  ],
  ['書き込んだ後で接続を切る', 'fail', { fault: { Method: 'chat.appendStream', Cut: true, After: true } }],
  ['次の出来事を 3 回届ける', 'fail-event', { event: { Copies: 2 } }],
  ['次の出来事を届けない', 'fail-event', { event: { Lost: true } }],
  ['時計を 5 分進める', 'advance', { seconds: 300 }],
  ['障害をすべて取り消す', 'heal', {}],
])
  $('faults').append(
    h(
      'button',
      {
        type: 'button',
        onclick: async () => {
          await control(what, fields)
          toast(`${label}: 設定しました。`)
        },
      },
      label,
    ),
  )

const place = {
  get screen() {
    return screen
  },
  get thread() {
    return at.thread
  },
}
compose($('composer'), place, (text, files) => act('say', { text, files }))
compose($('reply'), place, (text, files) => act('say', { text, files, thread: at.thread }))
$('as').onchange = () => go({ as: $('as').value, channel: '', thread: '', tab: '' })
$('menu').onclick = () => $('app').classList.toggle('menu')
$('main').addEventListener('click', (event) => {
  if (event.target !== $('menu')) $('app').classList.remove('menu')
})
$('close-thread').onclick = () => go({ thread: '' })
$('new-chat').onclick = async () => {
  const app = screen.apps.find((one) => one.direct === at.channel)
  const { ok, channel, ts } = await act('assistant', { app: app.id, channel: '' })
  if (ok) go({ channel, thread: ts, tab: '' })
}
for (const tab of document.querySelectorAll('#tabs button')) {
  tab.onclick = () =>
    visit(
      screen.apps.find((one) => one.direct === at.channel),
      tab.dataset.tab,
    )
}
$('modal').addEventListener('cancel', () => {
  if ($('modal').dataset.view) act('close', { view: $('modal').dataset.view })
})
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && !event.isComposing && at.thread && !$('modal').open) go({ thread: '' })
})
watch()
