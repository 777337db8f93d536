import { useEffect, useState } from 'react'
import { readIntent, takeIntent } from '../lib/intent'
import type { Target } from '../lib/pages'

/** Place is the window of the panel, and the tab in its URL. Without a tab the panel follows the active one. */
export interface Place {
  readonly windowId: number
  readonly tabId: number | null
}

export async function readPlace(): Promise<Place> {
  const named = new URLSearchParams(location.search).get('tab')
  if (named !== null) {
    const tab = await chrome.tabs.get(Number(named))
    return { windowId: tab.windowId, tabId: Number(named) }
  }
  const { id = chrome.windows.WINDOW_ID_CURRENT } = await chrome.windows.getCurrent()
  return { windowId: id, tabId: null }
}

/** useTarget returns the tab next to the panel; null while unknown. */
export function useTarget(place: Place | null): Target | null {
  const [target, setTarget] = useState<Target | null>(null)
  useEffect(() => {
    if (place === null) return
    const look = async () => {
      const tab =
        place.tabId !== null
          ? await chrome.tabs.get(place.tabId).catch(() => undefined)
          : (await chrome.tabs.query({ active: true, windowId: place.windowId }))[0]
      if (tab?.id === undefined) return
      const { id: tabId, url = '', title = '' } = tab
      const used = url !== '' || (await readIntent(place.windowId))?.tabId === tabId
      const found = { tabId, url, title, used }
      setTarget((now) => (now !== null && same(now, found) ? now : found))
    }
    const onActivated = ({ windowId }: { windowId: number }) => {
      if (windowId === place.windowId) void look()
    }
    const onUpdated = async (
      tabId: number,
      { status }: chrome.tabs.OnUpdatedInfo,
      { url }: chrome.tabs.Tab,
    ) => {
      // The user pressed the button on the page that the tab is leaving.
      if (status === 'loading' && url === undefined && (await readIntent(place.windowId))?.tabId === tabId)
        await takeIntent(place.windowId)
      void look()
    }
    const onIntentStored = (changes: Record<string, unknown>) => {
      if (Object.keys(changes).some((key) => key.startsWith('intent:'))) void look()
    }
    void look()
    chrome.tabs.onActivated.addListener(onActivated)
    chrome.tabs.onUpdated.addListener(onUpdated)
    // The toolbar's button reveals the page to the extension; no other event reports that.
    chrome.storage.session.onChanged.addListener(onIntentStored)
    return () => {
      chrome.tabs.onActivated.removeListener(onActivated)
      chrome.tabs.onUpdated.removeListener(onUpdated)
      chrome.storage.session.onChanged.removeListener(onIntentStored)
    }
  }, [place])
  return target
}

function same(a: Target, b: Target): boolean {
  return a.tabId === b.tabId && a.url === b.url && a.title === b.title && a.used === b.used
}
