/** A person's action on a tab, by the toolbar, a menu or a key, which the panel carries out. */
export interface Intent {
  readonly kind: 'open' | 'summarize' | 'explain'
  readonly tabId: number
  readonly windowId: number
  /** The selection that the menu reports; the browser shortens it. */
  readonly selection?: string
  /** Distinguishes two intents. */
  readonly at: number
}

const keyOf = (windowId: number) => `intent:${windowId}`

/** Leaves an intent for the panel of its window. */
export async function leaveIntent(intent: Intent): Promise<void> {
  await chrome.storage.session.set({ [keyOf(intent.windowId)]: intent })
}

/** The intent that is left for a window; null for none. */
export async function readIntent(windowId: number): Promise<Intent | null> {
  const key = keyOf(windowId)
  return ((await chrome.storage.session.get(key))[key] as Intent | undefined) ?? null
}

/** Takes the intent that is left for a window, once. */
export async function takeIntent(windowId: number): Promise<Intent | null> {
  const found = await readIntent(windowId)
  if (found !== null) await chrome.storage.session.remove(keyOf(windowId))
  return found
}

/** Calls back when an intent is left for a window; returns how to stop that. */
export function onIntent(windowId: number, listener: () => void): () => void {
  const onChanged = (changes: Record<string, { newValue?: unknown }>, area: string) => {
    if (area === 'session' && changes[keyOf(windowId)]?.newValue !== undefined) listener()
  }
  chrome.storage.onChanged.addListener(onChanged)
  return () => chrome.storage.onChanged.removeListener(onChanged)
}
