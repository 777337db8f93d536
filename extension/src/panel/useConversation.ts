import { useCallback, useEffect, useRef, useState } from 'react'
import type { Target } from '../lib/pages'
import {
  addressOf,
  deleteConversation,
  onAllDeleted,
  readConversation,
  readLastConversation,
} from '../lib/storedConversations'
import { Conversation } from './conversation'
import { deleteDrafts } from './drafts'

/** The conversations of this panel. Their answers continue while another tab is active. */
const conversations = new Map<string, Conversation>()
const keyOf = (tabId: number, url: string) => `${tabId}:${url}`

interface Shown {
  readonly tabId: number
  readonly conversation: Conversation | null
}

interface ShownConversation {
  readonly conversation: Conversation | null
  /** Whether the tab shows a page other than the conversation's, or an unknown one. */
  readonly moved: 'moved' | 'unknown' | null
  /** Begins a new conversation, and shows it if its tab is shown. Null shows an empty start for the tab's page. */
  readonly open: (conversation: Conversation | null) => void
}

/**
 * useConversation returns one conversation for a tab and an address: that of the page, else the last one of the tab.
 */
export function useConversation(target: Target | null): ShownConversation {
  const [shown, setShown] = useState<Shown | null>(null)
  const tabId = target?.tabId ?? null
  const address = addressOf(target?.url ?? '')
  const shownTab = useRef(tabId)
  useEffect(() => {
    shownTab.current = tabId
    if (tabId === null) return
    let current = true
    void find(tabId, address).then((conversation) => {
      if (current) setShown({ tabId, conversation })
    })
    return () => {
      current = false
    }
  }, [tabId, address])
  // The next user of this computer must not see them.
  useEffect(
    () =>
      onAllDeleted(() => {
        const all = [...conversations.values()]
        closeAll()
        deleteDrafts()
        for (const { stored } of all) void deleteConversation(stored)
        setShown(null)
      }),
    [],
  )
  const open = useCallback(
    (conversation: Conversation | null) => {
      const place = conversation?.stored ?? { tabId, url: address }
      if (place.tabId === null) return
      const key = keyOf(place.tabId, place.url)
      const before = conversations.get(key)
      if (before !== undefined && before !== conversation) {
        before.close()
        void deleteConversation(before.stored)
        conversations.delete(key)
      }
      if (conversation !== null) conversations.set(key, conversation)
      // The tab may have changed while the page was read.
      if (place.tabId === shownTab.current) setShown({ tabId: place.tabId, conversation })
    },
    [tabId, address],
  )
  const conversation = shown !== null && shown.tabId === tabId ? shown.conversation : null
  const elsewhere = conversation !== null && conversation.stored.url !== address
  return { conversation, moved: elsewhere ? (address === '' ? 'unknown' : 'moved') : null, open }
}

async function find(tabId: number, address: string): Promise<Conversation | null> {
  const known = conversations.get(keyOf(tabId, address))
  if (known !== undefined) return known
  const stored =
    (address !== '' && (await readConversation(tabId, address))) || (await readLastConversation(tabId))
  if (stored === null) return null
  const key = keyOf(tabId, stored.url)
  const conversation = conversations.get(key) ?? new Conversation(stored)
  conversations.set(key, conversation)
  return conversation
}

/** closeAll stores everything for the next time that the panel opens. */
export function closeAll(): void {
  for (const conversation of conversations.values()) conversation.close()
  conversations.clear()
}
