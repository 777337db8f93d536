import { atom, type WritableAtom } from 'jotai'
import type { Picture } from '@/lib/api'
import { followKept, readKept, writeKept } from '@/lib/browser/kept'
import { store } from '@/lib/ui/store'

/** What a composer holds beside its text. */
export interface Attachments {
  /** The data sources that were added to the question. */
  readonly added: readonly string[]
  /** The data sources of the thread that the question does not use. */
  readonly without: readonly string[]
  readonly pictures: readonly Picture[]
  /** The question is complete, and is sent when its files are read. */
  readonly waiting: boolean
}

type Kept = WritableAtom<Attachments, [Attachments], void>

const none: Attachments = { added: [], without: [], pictures: [], waiting: false }
const prefix = 'files:'
const atoms = new Map<string, { readonly kept: Kept; readonly hear: (value: string) => void }>()

/** The attachments of a composer, by the key of its draft. They outlive the tab, and all tabs have the same. */
export function attachmentsAtom(key: string): Kept {
  const known = atoms.get(key)
  if (known !== undefined) return known.kept
  const value = atom(parse(readKept(prefix + key)))
  const kept: Kept = atom(
    (get) => get(value),
    (_, set, next: Attachments) => {
      set(value, next)
      keep(key, { ...next, waiting: next.waiting && isKeptWaiting(key) })
    },
  )
  atoms.set(key, { kept, hear: (text) => store.set(value, parse(text)) })
  return kept
}

export function readAttachments(key: string): Attachments {
  return store.get(attachmentsAtom(key))
}

/** Adds data sources to a question; those that it did without are used again. */
export function attach(key: string, ids: readonly string[]): void {
  change(key, ({ added, without }) => ({
    added: [...new Set([...added, ...ids])],
    without: without.filter((id) => !ids.includes(id)),
  }))
}

/** Takes a data source out of a question: the thread keeps it, if it has it. */
export function detach(key: string, id: string, ofThread: boolean): void {
  change(key, ({ added, without }) => ({
    added: added.filter((other) => other !== id),
    without: ofThread && !without.includes(id) ? [...without, id] : without,
  }))
}

/** Adds a picture to a question. */
export function attachPicture(key: string, picture: Picture): void {
  change(key, ({ pictures }) => ({ pictures: [...pictures.filter(({ id }) => id !== picture.id), picture] }))
}

/** Takes a picture out of a question. */
export function detachPicture(key: string, pictureId: string): void {
  change(key, ({ pictures }) => ({ pictures: pictures.filter(({ id }) => id !== pictureId) }))
}

/** Gives a question back what it was taken out with. */
export function giveBackAttachments(
  key: string,
  { sources = [], pictures = [] }: { sources?: readonly string[]; pictures?: readonly Picture[] },
): void {
  attach(key, sources)
  for (const picture of pictures) attachPicture(key, picture)
}

/** Has a question wait for its files, or no longer. */
export function setWaiting(key: string, waiting: boolean): void {
  if (readAttachments(key).waiting !== waiting) change(key, () => ({ waiting }))
}

/** Forgets what was added: the question has been sent. What the thread's questions do without stays. */
export function clearAdded(key: string): void {
  change(key, () => ({ added: [], pictures: [], waiting: false }))
}

/** Tells other tabs, and this one after a reload, that the question waits. */
export function keepAttachments(key: string): void {
  keep(key, readAttachments(key))
}

/** Whether other tabs have been told that a question waits, and none of them has sent it since. */
export function isKeptWaiting(key: string): boolean {
  return parse(readKept(prefix + key)).waiting
}

function change(key: string, how: (before: Attachments) => Partial<Attachments>): void {
  const before = readAttachments(key)
  store.set(attachmentsAtom(key), { ...before, ...how(before) })
}

function keep(key: string, attachments: Attachments): void {
  const { added, without, pictures, waiting } = attachments
  const empty = added.length + without.length + pictures.length === 0 && !waiting
  writeKept(prefix + key, empty ? '' : JSON.stringify(attachments))
}

function parse(text: string): Attachments {
  try {
    const { added, without, pictures, waiting } = JSON.parse(text) as Partial<Attachments>
    return {
      added: strings(added),
      without: strings(without),
      pictures: Array.isArray(pictures) ? pictures.filter(isPicture) : [],
      waiting: waiting === true,
    }
  } catch {
    return none
  }
}

function strings(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : []
}

function isPicture(value: unknown): value is Picture {
  return typeof (value as Partial<Picture> | null)?.id === 'string'
}

followKept((name, value) => {
  if (name.startsWith(prefix)) atoms.get(name.slice(prefix.length))?.hear(value)
})
