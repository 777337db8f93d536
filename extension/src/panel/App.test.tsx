import { getDefaultStore } from 'jotai'
import { createRoot } from 'react-dom/client'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type Answer, emptyAnswer } from '@/lib/stream'
import messages from '../../public/_locales/ja/messages.json'
import { saveServer } from '../lib/server'
import { awaitDevice } from '../lib/signIn'
import { deleteAllConversations, type StoredConversation } from '../lib/storedConversations'
import { App } from './App'
import { FakeChrome, type FakeTab } from './fakeChrome'
import { idle, signingInAtom } from './signingIn'
import { closeAll } from './useConversation'

const server = 'https://tsumugi.example'
let tabs = 0
let a: FakeTab
let b: FakeTab
let browser: FakeChrome
let unmount: () => void
/** The bodies of the questions that the server received. They are not answered. */
let asked: { page: { url: string } }[]
/** The signed-in person, and the answers to the requests for the messages of a thread. */
let me: string
let messagePages: (Response | Promise<Response>)[]

const page = (tab: FakeTab) => ({
  kind: 'page',
  url: tab.url,
  title: tab.title,
  text: '本文',
  whole: '本文',
  omitted: 0,
  selection: '',
  unreadFrames: 0,
})

const keyOf = (tab: FakeTab) => `talk:${tab.id}:${tab.url}`

/** Stores a conversation with one answered question, as an earlier panel did. */
function store(tab: FakeTab, question: string, answer: Partial<Answer> = {}): void {
  const conversation: StoredConversation = {
    tabId: tab.id,
    url: tab.url,
    title: tab.title,
    kind: 'page',
    project: null,
    threadId: 'thread',
    touchedAt: Date.now(),
    turns: [
      {
        key: 'turn',
        question,
        sent: null,
        asked: null,
        answer: { ...emptyAnswer, messageId: 'message', text: '回答', done: true, ...answer },
        failure: null,
        rating: null,
      },
    ],
  }
  browser.session.set(keyOf(tab), conversation)
}

const panel = () => document.body.textContent ?? ''
const review = () => document.querySelector(`section[aria-label="${messages.review.message}"]`)
const field = () => document.querySelector('textarea')
const until = (check: () => void) => vi.waitFor(check, { timeout: 20_000 })

async function press(name: keyof typeof messages): Promise<void> {
  const { message } = messages[name]
  const find = () => [...document.querySelectorAll('button')].find((it) => it.textContent?.trim() === message)
  await until(() => expect(find(), message).toBeDefined())
  find()?.click()
}

async function type(text: string): Promise<void> {
  await until(() => expect(field()?.disabled).toBe(false))
  const { set } = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, 'value') ?? {}
  set?.call(field(), text)
  field()?.dispatchEvent(new Event('input', { bubbles: true }))
  await until(() => expect(field()?.value).toBe(text))
}

async function signInAs(person: string): Promise<void> {
  await chrome.storage.local.remove('grant')
  me = person
  const device = { userCode: '', page: '', deviceCode: '', expiresAt: Date.now() + 60_000, intervalMs: 0 }
  await awaitDevice(server, device, new AbortController().signal)
}

const storedKeys = () => [...browser.session.keys()].filter((key) => key.startsWith('talk:'))

const enter = () =>
  field()?.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true }))

beforeEach(() => {
  a = { id: ++tabs, url: `https://a.example/${tabs}`, title: 'ページA' }
  b = { id: ++tabs, url: `https://b.example/${tabs}`, title: 'ページB' }
  browser = new FakeChrome(a)
  browser.local.set('server', server)
  browser.local.set('grant', {
    origin: server,
    accessToken: 'token',
    refreshToken: '',
    expiresAt: Date.now() + 3_600_000,
  })
  browser.read = async (tabId) => page(tabId === a.id ? a : b)
  asked = []
  me = 'me'
  messagePages = []
  vi.stubGlobal('fetch', (url: string, init?: RequestInit) => {
    if (url.endsWith('/v1/me')) return Promise.resolve(Response.json({ id: me }))
    if (url.endsWith('/v1/oauth2/device')) {
      const page = `${server}/oauth/device`
      const code = { user_code: 'ABCD-EFGH', device_code: 'device', verification_uri: page, interval: 600 }
      return Promise.resolve(Response.json(code))
    }
    if (url.endsWith('/v1/oauth2/token'))
      return Promise.resolve(Response.json({ access_token: `token of ${me}`, expires_in: 3600 }))
    if (url.endsWith('/v1/message/message/stream'))
      return Promise.resolve(new Response(null, { status: 204 }))
    if (url.includes('/v1/message?')) return Promise.resolve(messagePages.shift())
    if (url.includes('/v1/project')) return Promise.resolve(Response.json({ items: [], total: 0 }))
    if (init?.body && url.endsWith('/stream')) asked.push(JSON.parse(String(init?.body)))
    return new Promise(() => {})
  })
  const box = document.body.appendChild(document.createElement('div'))
  const root = createRoot(box)
  root.render(<App />)
  unmount = () => {
    root.unmount()
    box.remove()
  }
})

afterEach(() => {
  closeAll()
  unmount()
})

test('a review stays with its tab, and the conversation of another tab is kept', async () => {
  store(b, 'Bの質問')
  await press('summarize')
  await until(() => expect(review()?.textContent).toContain(a.url))

  browser.activate(b)
  await until(() => expect(panel()).toContain('Bの質問'))
  expect(review()).toBeNull()
  expect(field()).not.toBeNull()

  browser.activate(a)
  await until(() => expect(review()?.textContent).toContain(a.url))
  await press('send')
  await until(() => expect(asked).toMatchObject([{ page: { url: a.url } }]))
  await until(() => expect(browser.session.get(keyOf(a))).toMatchObject({ tabId: a.id, url: a.url }))

  browser.activate(b)
  await until(() => expect(panel()).toContain('Bの質問'))
  expect(storedKeys().sort()).toEqual([keyOf(a), keyOf(b)].sort())
})

/** holdReading makes the reading of a page wait, and returns the function that ends it with the page. */
function holdReading(): (found: unknown) => void {
  let finish: (found: unknown) => void = () => {}
  browser.read = () =>
    new Promise((resolve) => {
      finish = resolve
    })
  return (found) => finish(found)
}

test('a page that is sent without a review after a change of the tab begins a conversation of its own tab', async () => {
  store(b, 'Bの質問')
  browser.local.set('unreviewed', [new URL(a.url).host])
  const finish = holdReading()
  await press('summarize')
  await until(() => expect(panel()).toContain(messages.reading.message))
  browser.activate(b)
  await until(() => expect(panel()).toContain('Bの質問'))
  expect(panel()).not.toContain(messages.reading.message)

  finish(page(a))
  await until(() => expect(asked).toMatchObject([{ page: { url: a.url } }]))
  await until(() => expect(browser.session.get(keyOf(a))).toBeDefined())
  expect(panel()).toContain('Bの質問')
  expect(browser.session.get(keyOf(b))).toBeDefined()

  browser.activate(a)
  await until(() => expect(panel()).toContain(a.title))
  await until(() => expect(panel()).not.toContain('Bの質問'))
  await until(() => expect(document.querySelectorAll('[data-answer]')).toHaveLength(1))
})

test('a question stays in the field when the page cannot be read', async () => {
  browser.read = async () => ({ kind: 'empty', unreadFrames: 0 })
  await type('期限はいつですか')
  enter()
  await until(() => expect(document.querySelector('[role=alert]')).not.toBeNull())
  expect(field()?.value).toBe('期限はいつですか')
})

test('a question returns to the field when its review is canceled, and leaves it when it is sent', async () => {
  await type('期限はいつですか')
  enter()
  await until(() => expect(review()).not.toBeNull())
  await press('cancel')
  await until(() => expect(field()?.value).toBe('期限はいつですか'))
  // The focus does not disappear with the pressed button.
  await until(() => expect(document.activeElement).toBe(field()))
  enter()
  await press('send')
  await until(() => expect(asked).toHaveLength(1))
  await until(() => expect(document.activeElement).toBe(field()))
  await until(() => expect(field()?.value).toBe(''))
})

test('the next question can be typed during an answer, and a stop says so and keeps the focus', async () => {
  store(a, 'Aの質問')
  await until(() => expect(panel()).toContain('Aの質問'))
  await type('次の質問')
  enter()
  await until(() => expect(asked).toHaveLength(1))
  await type('その次の質問')
  enter()
  expect(field()?.value).toBe('その次の質問')
  const stop = document.querySelector<HTMLElement>(`button[aria-label="${messages.stop.message}"]`)
  stop?.focus()
  stop?.click()
  await until(() =>
    expect(document.querySelector('[role=alert]')?.textContent).toContain(messages.stopped.message),
  )
  expect(document.activeElement).toBe(field())
  enter()
  await until(() => expect(asked).toHaveLength(2))
})

test('each tab keeps its question while another tab is shown, until the question is sent', async () => {
  store(b, 'Bの質問')
  await type('Aへの質問')
  browser.activate(b)
  await until(() => expect(panel()).toContain('Bの質問'))
  expect(field()?.value).toBe('')
  await type('Bへの質問')
  browser.activate(a)
  await until(() => expect(field()?.value).toBe('Aへの質問'))
  browser.activate(b)
  await until(() => expect(panel()).toContain('Bの質問'))
  expect(field()?.value).toBe('Bへの質問')
  enter()
  await until(() => expect(asked).toHaveLength(1))
  expect(field()?.value).toBe('')
})

test('a follow-up stays in the field while a summary of the page is prepared and refused', async () => {
  store(a, 'Aの質問')
  await until(() => expect(panel()).toContain('Aの質問'))
  await type('次の質問')
  const summarize = async () => {
    await chrome.storage.session.set({
      'intent:1': { kind: 'summarize', tabId: a.id, windowId: 1, at: Date.now() },
    })
  }
  await summarize()
  await until(() => expect(review()).not.toBeNull())
  await press('cancel')
  await until(() => expect(field()?.value).toBe('次の質問'))
  browser.read = async () => ({ kind: 'empty', unreadFrames: 0 })
  await summarize()
  await until(() => expect(document.querySelector('[role=alert]')).not.toBeNull())
  expect(field()?.value).toBe('次の質問')
})

test('questions and reviews are deleted with all conversations', async () => {
  await type('Aへの質問')
  enter()
  await until(() => expect(review()).not.toBeNull())
  await deleteAllConversations()
  await until(() => expect(review()).toBeNull())
  await until(() => expect(field()?.value).toBe(''))

  const finish = holdReading()
  await press('summarize')
  await until(() => expect(panel()).toContain(messages.reading.message))
  await deleteAllConversations()
  await until(() => expect(panel()).not.toContain(messages.reading.message))
  finish(page(a))
  await type('次の質問')
  expect(review()).toBeNull()
})

test('a change of the server deletes the conversations', async () => {
  store(a, 'Aの質問')
  await until(() => expect(panel()).toContain('Aの質問'))
  await saveServer(server)
  expect(storedKeys()).toEqual([keyOf(a)])
  await type('次の質問')
  enter()
  await until(() => expect(asked).toHaveLength(1))
  await type('その次の質問')
  await saveServer('https://other.example')
  await until(() => expect(panel()).not.toContain('Aの質問'))
  expect(storedKeys()).toEqual([])
  await saveServer(server)
  await until(() => expect(field()?.value).toBe(''))
  expect(asked).toHaveLength(1)
})

test('signing in by a code ends when the policy changes the server', async () => {
  await chrome.storage.local.remove('grant')
  await press('signInCode')
  await until(() => expect(panel()).toContain('ABCD-EFGH'))
  browser.setServer('https://other.example')
  await until(() => expect(getDefaultStore().get(signingInAtom)).toBe(idle))
  expect(panel()).not.toContain('ABCD-EFGH')
})

test('a session of a server that is no longer used is not stored', async () => {
  await chrome.storage.local.remove('grant')
  browser.setServer('https://other.example')
  await expect(signInAs('A')).rejects.toThrow('canceled')
  expect(browser.local.has('grant')).toBe(false)
})

test('a session that has ended leaves the conversations to the same person only', async () => {
  await signInAs('A')
  store(b, 'Bの質問')
  browser.activate(b)
  await until(() => expect(panel()).toContain('Bの質問'))
  await signInAs('A')
  await until(() => expect(field()?.disabled).toBe(false))
  expect(panel()).toContain('Bの質問')
  expect(storedKeys()).toEqual([keyOf(b)])
  await signInAs('C')
  await until(() => expect(panel()).not.toContain('Bの質問'))
  expect(storedKeys()).toEqual([])
})

test('an ended answer that could not be read is read again, and not regenerated', async () => {
  messagePages = [
    new Response(null, { status: 503 }),
    Response.json({ items: [{ id: 'message', content: '読み直した回答', status: 'done' }] }),
  ]
  store(a, 'Aの質問', { threadId: 'thread', text: '', done: false })
  await press('again')
  await until(() => expect(panel()).toContain('読み直した回答'))
  expect(document.querySelector('[role=alert]')).toBeNull()
})

test('an answer that is being read is not stored again after its conversation is deleted', async () => {
  const page = Response.json({ items: [{ id: 'message', content: '前の人の回答', status: 'done' }] })
  let respond = () => {}
  messagePages = [
    new Promise((resolve) => {
      respond = () => resolve(page)
    }),
  ]
  store(a, 'Aの質問', { threadId: 'thread', text: '', done: false })
  await until(() => expect(messagePages).toEqual([]))
  await deleteAllConversations()
  await until(() => expect(panel()).not.toContain('Aの質問'))
  respond()
  await until(() => expect(page.bodyUsed).toBe(true))
  store(b, 'Bの質問')
  browser.activate(b)
  await until(() => expect(panel()).toContain('Bの質問'))
  expect(storedKeys()).toEqual([keyOf(b)])
})

test('invisible characters in the arguments of a call are shown before its approval', async () => {
  const approval = {
    id: 'approval',
    state: 'waiting',
    cause: 'rule',
    expires_at: '2026-11-30T00:00:00Z',
  } as const
  const call = {
    id: 'call',
    name: 'send',
    title: '送信',
    offset: 0,
    status: 'running',
    result: '',
    error: '',
  } as const
  const toolCalls = [{ ...call, arguments: '{"t\u200bo":"甲\u202e乙"}', approval }]
  store(a, 'Aの質問', { messageId: 'waiting', threadId: 'thread', text: '', done: false, toolCalls })
  await until(() => expect(document.querySelector('dt')?.textContent).toBe('t\uFFFDo'))
  expect(document.querySelector('dd')?.textContent).toBe('甲\uFFFD乙')
})
