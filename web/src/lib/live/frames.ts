import type { DataSource, Message, Notification, Thread } from '../api'

/** What a live event tells of a message: all but what it says. Of a question or an answer of one's own threads. */
export type LiveMessage = Pick<Message, 'id' | 'thread_id' | 'status'> &
  Partial<Pick<Message, 'role' | 'parent_id' | 'finish_reason' | 'error' | 'feedback'>>

/** What is told by type, to those who subscribe to it. */
export interface LiveEvents {
  thread:
    | { readonly thread: Thread; readonly id?: never }
    | { readonly thread?: never; readonly id: string; readonly deleted: true }
  message: { readonly message: LiveMessage }
  notification:
    | { readonly notification: Notification; readonly read?: never }
    | { readonly notification?: never; readonly read: readonly string[] }
  data_source:
    | { readonly data_source: DataSource; readonly id?: never }
    | { readonly data_source?: never; readonly id: string; readonly deleted: true }
}

export type LiveType = keyof LiveEvents

/** A frame from the server: `ready` says that it speaks from here on, and that something may have been missed before. */
export type LiveFrame =
  | { readonly type: 'ready' }
  | { readonly [Type in LiveType]: { readonly type: Type } & LiveEvents[Type] }[LiveType]

type Fields = Readonly<Record<string, unknown>>

/** Decodes what came over the socket; null for what is of no type known here, or not whole. */
export function decodeFrame(data: unknown): LiveFrame | null {
  if (typeof data !== 'string') return null
  let value: unknown
  try {
    value = JSON.parse(data)
  } catch {
    return null
  }
  return isFields(value) && isFrame(value) ? (value as unknown as LiveFrame) : null
}

function isFrame(frame: Fields): boolean {
  switch (frame.type) {
    case 'ready':
      return true
    case 'thread':
      return frame.deleted === true
        ? isText(frame.id)
        : hasId(frame.thread) && isText(frame.thread.touched_at) && isFields(frame.thread.skill)
    case 'message':
      return hasId(frame.message) && isText(frame.message.thread_id) && isText(frame.message.status)
    case 'notification':
      return Array.isArray(frame.read) ? frame.read.every(isText) : isNotice(frame.notification)
    case 'data_source':
      return frame.deleted === true ? isText(frame.id) : isSource(frame.data_source)
    default:
      return false
  }
}

/** Whether the bell can show it. */
function isNotice(value: unknown): boolean {
  return hasId(value) && isText(value.title) && isText(value.published_at)
}

/** Whether the list of data sources can show it, and where. */
function isSource(value: unknown): boolean {
  return hasId(value) && isText(value.filename) && isText(value.status) && isText(value.created_at)
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function hasId(value: unknown): value is Fields {
  return isFields(value) && isText(value.id)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
