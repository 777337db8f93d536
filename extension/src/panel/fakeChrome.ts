import { vi } from 'vitest'
import messages from '../../public/_locales/ja/messages.json'

type Listener = (...values: never[]) => unknown

/** emitter returns an event of the browser, and a function that fires it. */
function emitter() {
  const listeners = new Set<Listener>()
  return {
    event: {
      addListener: (listener: Listener) => listeners.add(listener),
      removeListener: (listener: Listener) => listeners.delete(listener),
    },
    fire: (...values: unknown[]) => {
      for (const listener of listeners) listener(...(values as never[]))
    },
  }
}

/** FakeTab is a tab of the fake browser. */
export interface FakeTab {
  readonly id: number
  readonly url: string
  readonly title: string
}

/** FakeChrome is a browser with one window. It installs itself as the global `chrome`. */
export class FakeChrome {
  /** The result of reading a tab, as of the injected reader. */
  read: (tabId: number) => Promise<unknown> = async () => ({ kind: 'empty', unreadFrames: 0 })
  readonly session = new Map<string, unknown>()
  readonly local = new Map<string, unknown>()
  /** The policy of the organization. */
  readonly #managed = new Map<string, unknown>()
  readonly #activated = emitter()
  readonly #never = emitter()
  /** Fires when the storage changes. */
  readonly #changed = emitter()
  #active: FakeTab

  constructor(active: FakeTab) {
    this.#active = active
    vi.stubGlobal('chrome', {
      i18n: {
        getMessage: (name: keyof typeof messages) => messages[name].message,
        getUILanguage: () => 'ja',
      },
      windows: { WINDOW_ID_CURRENT: -2, getCurrent: async () => ({ id: 1 }) },
      tabs: {
        query: async () => [this.#active],
        create: async () => ({}),
        onActivated: this.#activated.event,
        onUpdated: this.#never.event,
      },
      scripting: {
        executeScript: async ({ target, func }: { target: { tabId: number }; func?: unknown }) =>
          func === undefined ? [] : [{ result: await this.read(target.tabId) }],
      },
      storage: {
        managed: this.#area(this.#managed, 'managed', this.#changed.fire),
        local: this.#area(this.local, 'local', this.#changed.fire),
        session: this.#area(this.session, 'session', this.#changed.fire),
        onChanged: this.#changed.event,
      },
    })
  }

  /** Makes another tab the active one. */
  activate(tab: FakeTab): void {
    this.#active = tab
    this.#activated.fire({ windowId: 1, tabId: tab.id })
  }

  /** Sets the server by policy. */
  setServer(origin: string): void {
    this.#managed.set('server_url', origin)
    this.#changed.fire({ server_url: { newValue: origin } }, 'managed')
  }

  #area(values: Map<string, unknown>, name: string, changed: (...values: unknown[]) => void) {
    const { event, fire } = emitter()
    const report = (changes: object) => {
      fire(changes)
      changed(changes, name)
    }
    return {
      get: async (key: string | null) =>
        key === null ? Object.fromEntries(values) : values.has(key) ? { [key]: values.get(key) } : {},
      set: async (added: Record<string, unknown>) => {
        const entries = Object.entries(added)
        for (const [key, value] of entries) values.set(key, value)
        report(Object.fromEntries(entries.map(([key, newValue]) => [key, { newValue }])))
      },
      remove: async (keys: string | string[]) => {
        for (const key of [keys].flat()) values.delete(key)
        report(Object.fromEntries([keys].flat().map((key) => [key, {}])))
      },
      clear: async () => {
        const keys = [...values.keys()]
        values.clear()
        report(Object.fromEntries(keys.map((key) => [key, {}])))
      },
      onChanged: event,
    }
  }
}
