/** Intent is a user's action on a tab through the toolbar, a menu or a key. The panel executes it. */
export interface Intent {
  readonly kind: 'open' | 'summarize' | 'explain'
  readonly tabId: number
  readonly windowId: number
  /** The selection that the browser passes to the menu, which may shorten it. */
  readonly selection?: string
  /** Distinguishes two intents. */
  readonly at: number
}

const keyOf = (windowId: number) => `intent:${windowId}`

/** storeIntent stores an intent for the panel of its window. */
export async function storeIntent(intent: Intent): Promise<void> {
  await chrome.storage.session.set({ [keyOf(intent.windowId)]: intent })
}

/** readIntent returns the stored intent for a window; null for none. */
export async function readIntent(windowId: number): Promise<Intent | null> {
  const key = keyOf(windowId)
  return ((await chrome.storage.session.get(key))[key] as Intent | undefined) ?? null
}

/** takeIntent returns the stored intent for a window, and removes it. */
export async function takeIntent(windowId: number): Promise<Intent | null> {
  const found = await readIntent(windowId)
  if (found !== null) await chrome.storage.session.remove(keyOf(windowId))
  return found
}

/** onIntent calls back when an intent is stored for a window. It returns a function that stops it. */
export function onIntent(windowId: number, listener: () => void): () => void {
  const onChanged = (changes: Record<string, { newValue?: unknown }>, area: string) => {
    if (area === 'session' && changes[keyOf(windowId)]?.newValue !== undefined) listener()
  }
  chrome.storage.onChanged.addListener(onChanged)
  return () => chrome.storage.onChanged.removeListener(onChanged)
}
