import type { Answer } from '@/lib/stream'

/** The request of a question, which is repeated unchanged until the server has it. */
export interface Asked {
  readonly url: string
  readonly body: string
}

/** A question and its answer, as far as this browser has them. Plain data: it outlives the panel. */
export interface Turn {
  /** The request's id. Never changes. */
  readonly key: string
  readonly question: string
  /** How much of a page was sent with it; null for a question without a page. */
  readonly sent: { readonly characters: number; readonly left: number } | null
  /** Null once the server has the question. */
  readonly asked: Asked | null
  readonly answer: Answer
  /** Why it was given up, in words; null if it was not. */
  readonly failure: string | null
  /** The number of tokens that the user has to accept. Missing: the failure has another reason. */
  readonly tokensToAccept?: number | undefined
  readonly rating: 'good' | 'bad' | null
}

/** The conversation about one address in one tab. */
export interface Talk {
  readonly tabId: number
  readonly url: string
  readonly title: string
  readonly kind: 'page' | 'selection'
  readonly threadId: string | null
  readonly turns: readonly Turn[]
  readonly touchedAt: number
}

/** More conversations than these are not kept: the browser gives an extension 10 MB. */
const maxTalks = 20

const prefix = 'talk:'
const keyOf = (tabId: number, url: string) => `${prefix}${tabId}:${url}`

/** addressOf returns the key of a conversation: the address of the page without its fragment. */
export function addressOf(url: string): string {
  return url.replace(/#.*$/, '')
}

export async function readTalk(tabId: number, url: string): Promise<Talk | null> {
  const key = keyOf(tabId, url)
  return ((await chrome.storage.session.get(key))[key] as Talk | undefined) ?? null
}

/** The conversation of a tab that was touched last. */
export async function lastTalk(tabId: number): Promise<Talk | null> {
  const talks = (await allTalks()).filter((talk) => talk.tabId === tabId)
  return talks.sort((a, b) => b.touchedAt - a.touchedAt)[0] ?? null
}

export async function keepTalk(talk: Talk): Promise<void> {
  const key = keyOf(talk.tabId, talk.url)
  await chrome.storage.session.set({ [key]: talk })
  const talks = (await allTalks()).sort((a, b) => b.touchedAt - a.touchedAt)
  const old = talks.slice(maxTalks).map(({ tabId, url }) => keyOf(tabId, url))
  if (old.length > 0) await chrome.storage.session.remove(old)
}

export async function forgetTalk(talk: Talk): Promise<void> {
  await chrome.storage.session.remove(keyOf(talk.tabId, talk.url))
}

/** Forgets the conversations of a tab that was closed. */
export async function forgetTab(tabId: number): Promise<void> {
  const talks = (await allTalks()).filter((talk) => talk.tabId === tabId)
  await chrome.storage.session.remove(talks.map(({ url }) => keyOf(tabId, url)))
}

const forgottenKey = 'forgotten'

/** Deletes all stored conversations, and notifies the panels. */
export async function forgetTalks(): Promise<void> {
  await chrome.storage.session.clear()
  await chrome.storage.session.set({ [forgottenKey]: Date.now() })
}

/** Calls back when all conversations are deleted; returns a function that stops it. */
export function onForgotten(listener: () => void): () => void {
  const onChanged = (changes: Record<string, { newValue?: unknown }>) => {
    if (changes[forgottenKey]?.newValue !== undefined) listener()
  }
  chrome.storage.session.onChanged.addListener(onChanged)
  return () => chrome.storage.session.onChanged.removeListener(onChanged)
}

async function allTalks(): Promise<Talk[]> {
  const all = await chrome.storage.session.get(null)
  return Object.entries(all)
    .filter(([key]) => key.startsWith(prefix))
    .map(([, talk]) => talk as Talk)
}
