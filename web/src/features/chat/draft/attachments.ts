import type { Message, Picture } from '@/lib/api'
import { storedAtoms } from '@/lib/browser/storedAtoms'
import { readStoredText, writeStoredText } from '@/lib/browser/storedTexts'
import { store } from '@/lib/ui/store'
import type { QuestionContent } from '../conversation/conversationState'

/** Attachments are the contents of a composer in addition to its text. */
export interface Attachments {
  /** The ids of the data sources that were added to the question. */
  readonly added: readonly string[]
  /** The ids of the thread's data sources, or of an edited question's pictures, that the question excludes. */
  readonly without: readonly string[]
  readonly pictures: readonly Picture[]
  /** Whether the question is complete and will be sent once its files are parsed. */
  readonly waiting: boolean
}

const none: Attachments = { added: [], without: [], pictures: [], waiting: false }
const prefix = 'files:'

/**
 * attachmentsAtom returns the attachments of a composer by draft key. They are stored in the browser and shared by all
 * tabs.
 */
export const attachmentsAtom = storedAtoms<Attachments>(prefix, {
  parse,
  format: (next, key) => format({ ...next, waiting: next.waiting && isWaitingStored(key) }),
  follows: () => true,
})

export function readAttachments(key: string): Attachments {
  return store.get(attachmentsAtom(key))
}

/** attach adds data sources to a question, or includes excluded ones again. */
export function attach(key: string, ids: readonly string[]): void {
  change(key, ({ added, without }) => ({
    added: [...new Set([...added, ...ids])],
    without: without.filter((id) => !ids.includes(id)),
  }))
}

/** detach removes a data source from a question. A data source of the thread stays in the thread. */
export function detach(key: string, id: string, ofThread: boolean): void {
  change(key, ({ added, without }) => ({
    added: added.filter((other) => other !== id),
    without: ofThread && !without.includes(id) ? [...without, id] : without,
  }))
}

export function attachPicture(key: string, picture: Picture): void {
  change(key, ({ pictures }) => ({ pictures: [...pictures.filter(({ id }) => id !== picture.id), picture] }))
}

export function detachPicture(key: string, pictureId: string): void {
  change(key, ({ pictures }) => ({ pictures: pictures.filter(({ id }) => id !== pictureId) }))
}

/** restoreAttachments restores the attachments of a question that could not be sent. */
export function restoreAttachments(
  key: string,
  { sources = [], pictures = [] }: Omit<QuestionContent, 'content'>,
): void {
  attach(key, sources)
  for (const picture of pictures) attachPicture(key, picture)
}

/** removeRestoredAttachments removes the attachments of a question that is sent again. */
export function removeRestoredAttachments(
  key: string,
  { sources = [], pictures = [] }: Omit<QuestionContent, 'content'>,
): void {
  for (const id of sources) detach(key, id, false)
  for (const { id } of pictures) detachPicture(key, id)
}

/** setWaiting sets whether a question waits for its files. */
export function setWaiting(key: string, waiting: boolean): void {
  if (readAttachments(key).waiting !== waiting) change(key, () => ({ waiting }))
}

/** clearAdded removes the added attachments after the question was sent. Excluded data sources stay excluded. */
export function clearAdded(key: string): void {
  change(key, () => ({ added: [], pictures: [], waiting: false }))
}

/** clearAttachments removes all attachments after an edited question was sent or its editing canceled. */
export function clearAttachments(key: string): void {
  change(key, () => none)
}

/** ownPictures returns the pictures of a sent question that its edit, by draft key, has not removed. */
export function ownPictures({ pictures = [] }: Message, key: string): readonly Picture[] {
  const { without } = readAttachments(key)
  return pictures.filter(({ id }) => !without.includes(id))
}

/** storeAttachments stores the waiting question for other tabs and for this one after a reload. */
export function storeAttachments(key: string): void {
  writeStoredText(prefix + key, format(readAttachments(key)))
}

/** isWaitingStored reports whether the browser has stored a waiting question and no tab has sent it since. */
export function isWaitingStored(key: string): boolean {
  return parse(readStoredText(prefix + key)).waiting
}

function change(key: string, how: (before: Attachments) => Partial<Attachments>): void {
  const before = readAttachments(key)
  store.set(attachmentsAtom(key), { ...before, ...how(before) })
}

function format(attachments: Attachments): string {
  const { added, without, pictures, waiting } = attachments
  const empty = added.length + without.length + pictures.length === 0 && !waiting
  return empty ? '' : JSON.stringify(attachments)
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
