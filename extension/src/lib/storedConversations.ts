import type { Answer } from '@/lib/stream'
import type { Project } from './projects'

/** PendingRequest is the request of a question. It is repeated unchanged until the server accepts it. */
export interface PendingRequest {
  readonly url: string
  readonly body: string
}

/** Turn is a question and its answer, as known to this browser. It is plain data that outlives the panel. */
export interface Turn {
  /** The request's id. Never changes. */
  readonly key: string
  readonly question: string
  /** The number of characters of a page that were sent and omitted; null for a question without a page. */
  readonly sent: { readonly characters: number; readonly left: number } | null
  /** Null once the server has the question. */
  readonly asked: PendingRequest | null
  readonly answer: Answer
  /** Why the request failed, in words; null if it did not. */
  readonly failure: string | null
  /** The number of tokens that the user must accept. Missing if the failure has another reason. */
  readonly tokensToAccept?: number | undefined
  /** Whether the answer has ended and the request for its stored message failed. */
  readonly unread?: boolean | undefined
  readonly rating: 'good' | 'bad' | null
}

/**
 * StoredConversation is the conversation about one address in one tab. It is stored while an answer grows and when the
 * panel closes, so that a panel that opens later continues at its cursor. The panel reads answers, and not the worker,
 * which the browser stops after half a minute. An offscreen document would need a further permission, and a popup would
 * close with the first click outside of it.
 */
export interface StoredConversation {
  readonly tabId: number
  readonly url: string
  readonly title: string
  readonly kind: 'page' | 'selection'
  /** The project of its thread; null for none. */
  readonly project: Project | null
  readonly threadId: string | null
  readonly turns: readonly Turn[]
  readonly touchedAt: number
}

/** The maximum number of stored conversations. The browser limits an extension to 10 MB. */
const maxConversations = 20

const prefix = 'talk:'
const keyOf = (tabId: number, url: string) => `${prefix}${tabId}:${url}`

/** addressOf returns the key of a conversation: the address of the page without its fragment. */
export function addressOf(url: string): string {
  return url.replace(/#.*$/, '')
}

export async function readConversation(tabId: number, url: string): Promise<StoredConversation | null> {
  const key = keyOf(tabId, url)
  return ((await chrome.storage.session.get(key))[key] as StoredConversation | undefined) ?? null
}

/** readLastConversation returns the conversation of a tab that was touched last. */
export async function readLastConversation(tabId: number): Promise<StoredConversation | null> {
  return (await readAllConversations()).find((conversation) => conversation.tabId === tabId) ?? null
}

export async function storeConversation(conversation: StoredConversation): Promise<void> {
  const key = keyOf(conversation.tabId, conversation.url)
  await chrome.storage.session.set({ [key]: conversation })
  const conversations = await readAllConversations()
  const old = conversations.slice(maxConversations).map(({ tabId, url }) => keyOf(tabId, url))
  if (old.length > 0) await chrome.storage.session.remove(old)
}

export async function deleteConversation(conversation: StoredConversation): Promise<void> {
  await chrome.storage.session.remove(keyOf(conversation.tabId, conversation.url))
}

/** deleteConversationsOfTab deletes the conversations of a closed tab. */
export async function deleteConversationsOfTab(tabId: number): Promise<void> {
  const conversations = (await readAllConversations()).filter((conversation) => conversation.tabId === tabId)
  await chrome.storage.session.remove(conversations.map(({ url }) => keyOf(tabId, url)))
}

const forgottenKey = 'forgotten'

/** Deletes all stored conversations, and notifies the panels. */
export async function deleteAllConversations(): Promise<void> {
  await chrome.storage.session.clear()
  await chrome.storage.session.set({ [forgottenKey]: Date.now() })
}

/** onAllDeleted calls back when all conversations are deleted. It returns a function that stops it. */
export function onAllDeleted(listener: () => void): () => void {
  const onChanged = (changes: Record<string, { newValue?: unknown }>) => {
    if (changes[forgottenKey]?.newValue !== undefined) listener()
  }
  chrome.storage.session.onChanged.addListener(onChanged)
  return () => chrome.storage.session.onChanged.removeListener(onChanged)
}

/** readAllConversations returns the stored conversations. The one that was touched last comes first. */
async function readAllConversations(): Promise<StoredConversation[]> {
  const all = await chrome.storage.session.get(null)
  return Object.entries(all)
    .filter(([key]) => key.startsWith(prefix))
    .map(([, conversation]) => conversation as StoredConversation)
    .sort((a, b) => b.touchedAt - a.touchedAt)
}
