import type { DataSource, Message, Notification, Proofread, Thread } from '../api'
import { type Fields, isFields } from '../stream/fields'

/**
 * A message in a live event: all fields but its text. It is a question or an answer in one of the user's own threads.
 */
export type LiveMessage = Pick<Message, 'id' | 'thread_id' | 'status'> &
  Partial<Pick<Message, 'role' | 'parent_id' | 'finish_reason' | 'error' | 'feedback'>> &
  Partial<Pick<Proofread, 'decisions'>>

/** The payload of each event type. */
export interface LiveEvents {
  thread:
    | { readonly thread: Thread; readonly id?: never }
    | { readonly thread?: never; readonly id: string; readonly deleted: true }
  message:
    | { readonly message: LiveMessage; readonly thread_id?: never }
    | { readonly message?: never; readonly id: string; readonly thread_id: string; readonly deleted: true }
  notification:
    | { readonly notification: Notification; readonly read?: never; readonly id?: never }
    | { readonly notification?: never; readonly read: readonly string[]; readonly id?: never }
    | { readonly notification?: never; readonly read?: never; readonly id: string; readonly ended: true }
  data_source:
    | { readonly data_source: DataSource; readonly id?: never }
    | { readonly data_source?: never; readonly id: string; readonly deleted: true }
  /** A call of a tool waits for the user's decision, or no longer. */
  tool_call: { readonly id: string }
  /** A project, or the user's role in it, has changed. */
  project: { readonly id: string }
}

export type LiveType = keyof LiveEvents

/** A frame from the server. After `ready` all events arrive; earlier ones may be missing. */
export type LiveFrame =
  | { readonly type: 'ready' }
  | { readonly [Type in LiveType]: { readonly type: Type } & LiveEvents[Type] }[LiveType]

/** Decodes a frame of the socket; null for unknown types and malformed frames. */
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
      if (frame.deleted === true) return isText(frame.id) && isText(frame.thread_id)
      return hasId(frame.message) && isText(frame.message.thread_id) && isText(frame.message.status)
    case 'notification':
      if (frame.ended === true) return isText(frame.id)
      return Array.isArray(frame.read) ? frame.read.every(isText) : isNotice(frame.notification)
    case 'project':
    case 'tool_call':
      return isText(frame.id)
    case 'data_source':
      return frame.deleted === true ? isText(frame.id) : isSource(frame.data_source)
    default:
      return false
  }
}

/** isNotice reports whether a value has the fields that the bell needs. */
function isNotice(value: unknown): boolean {
  return hasId(value) && isText(value.title) && isText(value.published_at)
}

/** isSource reports whether a value has the fields that the list of data sources needs. */
function isSource(value: unknown): boolean {
  return hasId(value) && isText(value.filename) && isText(value.status) && isText(value.created_at)
}

function hasId(value: unknown): value is Fields {
  return isFields(value) && isText(value.id)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
