import { caller } from '@/lib/api/caller'

/**
 * Stores texts in local storage so that they outlive the tab: one record per name, readable by the user who wrote it
 * and removed at sign-out. Their number and length are bounded; the oldest are removed first.
 */

const PREFIX = 'tsumugiKept:'
const MAX_RECORDS = 40
const MAX_LENGTH = 160_000

interface StoredRecord {
  /** The time of writing, in milliseconds since the epoch. */
  readonly at: number
  readonly value: string
}

/** readStoredText returns the text stored under a name, or ''. */
export function readStoredText(name: string): string {
  try {
    return parse(localStorage.getItem(keyOf(name)))?.value ?? ''
  } catch {
    return ''
  }
}

/** writeStoredText stores a text; '' removes it. If the storage is full or disabled, the text is lost on a reload. */
export function writeStoredText(name: string, value: string): void {
  try {
    const key = keyOf(name)
    if (value === '' || value.length > MAX_LENGTH) {
      localStorage.removeItem(key)
      return
    }
    if (localStorage.getItem(key) === null) makeRoom()
    localStorage.setItem(key, JSON.stringify({ at: Date.now(), value } satisfies StoredRecord))
  } catch {}
}

/** clearStoredTexts removes all stored texts in this browser, of every user. */
export function clearStoredTexts(): void {
  try {
    for (const key of storedKeys()) localStorage.removeItem(key)
  } catch {}
}

/** Calls back when other tabs write, until the returned function is called. */
export function followStoredTexts(listener: (name: string, value: string) => void): () => void {
  const onStorage = ({ key, newValue }: StorageEvent) => {
    const own = keyOf('')
    if (key?.startsWith(own)) listener(key.slice(own.length), parse(newValue)?.value ?? '')
  }
  window.addEventListener('storage', onStorage)
  return () => window.removeEventListener('storage', onStorage)
}

function keyOf(name: string): string {
  return `${PREFIX}${caller().userId()}:${name}`
}

function storedKeys(): string[] {
  return Object.keys(localStorage).filter((key) => key.startsWith(PREFIX))
}

function makeRoom(): void {
  const age = (key: string) => parse(localStorage.getItem(key))?.at ?? 0
  const newestFirst = storedKeys().sort((a, b) => age(b) - age(a))
  for (const key of newestFirst.slice(MAX_RECORDS - 1)) localStorage.removeItem(key)
}

function parse(text: string | null): StoredRecord | null {
  try {
    const record: unknown = JSON.parse(text ?? '')
    if (record === null || typeof record !== 'object') return null
    const { at, value } = record as Partial<StoredRecord>
    return typeof at === 'number' && typeof value === 'string' ? { at, value } : null
  } catch {
    return null
  }
}
