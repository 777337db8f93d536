import { errorsByField, type ManagedNotice, type NoticeDraft } from '@/lib/api'
import type { FormErrors } from '@/lib/ui/form'
import { fromJapan, inJapan } from '../format'
import { notice } from '../texts'

const words = notice.errors

/** The API's limits, in characters. */
export const limits = { title: 200, body: 2000 } as const

/** NoticeValues are the values of the form. Times are in Japan's time zone in the format of the fields; '' for none. */
export interface NoticeValues {
  title: string
  body: string
  url: string
  level: NoticeDraft['level']
  audience: NoticeDraft['audience']
  from: string
  to: string
}

/** Errors by field. */
export type NoticeErrors = FormErrors<NoticeValues>

/** initialValues returns the initial values of the form: empty, of a notice, or of a copied notice. */
export function initialValues(notice?: ManagedNotice, copied = false): NoticeValues {
  return {
    title: notice?.title ?? '',
    body: notice?.body ?? '',
    url: notice?.url ?? '',
    level: notice?.level ?? 'info',
    audience: notice?.audience ?? 'all',
    from: notice && !copied ? inJapan(notice.published_at) : '',
    to: notice?.ends_at && !copied ? inJapan(notice.ends_at) : '',
  }
}

/** Whether two forms have the same values. */
export function same(a: NoticeValues, b: NoticeValues): boolean {
  return (Object.keys(a) as (keyof NoticeValues)[]).every((name) => a[name] === b[name])
}

/**
 * requestOf returns the request for the values. An unchanged time is sent as stored, because the fields have no
 * seconds.
 */
export function requestOf(values: NoticeValues, notice?: ManagedNotice): NoticeDraft {
  const at = (value: string, stored: string | undefined) =>
    stored !== undefined && value === inJapan(stored) ? stored : fromJapan(value)
  const from = notice?.state === 'published' ? notice.published_at : at(values.from, notice?.published_at)
  const to = at(values.to, notice?.ends_at)
  return {
    title: values.title.trim(),
    body: values.body.trim(),
    url: values.url.trim(),
    level: values.level,
    audience: values.audience,
    ...(from && { published_at: from }),
    ...(to && { ends_at: to }),
  }
}

/** checkValues returns the errors that are found before sending. */
export function checkValues(values: NoticeValues, notice?: ManagedNotice, now = Date.now()): NoticeErrors {
  const errors: NoticeErrors = {}
  const draft = requestOf(values, notice)
  const published = notice?.state === 'published'
  const from = draft.published_at ? Date.parse(draft.published_at) : now
  const to = draft.ends_at ? Date.parse(draft.ends_at) : Number.POSITIVE_INFINITY
  if (draft.title === '') errors.title = words.title
  if ([...draft.title].length > limits.title) errors.title = words.titleLong
  if ([...(draft.body ?? '')].length > limits.body) errors.body = words.bodyLong
  if (draft.url && !isLink(draft.url)) errors.url = words.url
  if (!published && from < now) errors.from = words.past
  if (to <= from) errors.to = words.order
  else if (to <= now) errors.to = words.past
  return errors
}

const names: Readonly<Record<string, keyof NoticeValues>> = {
  title: 'title',
  body: 'body',
  url: 'url',
  level: 'level',
  audience: 'audience',
  published_at: 'from',
  ends_at: 'to',
}

/** serverErrors returns the server's errors by field. `rest` contains the others. */
export function serverErrors(cause: unknown): { errors: NoticeErrors; rest: string } {
  return errorsByField(cause, (field) => names[field])
}

function isLink(text: string): boolean {
  return /^https?:\/\/[^\s/]/i.test(text) && URL.canParse(text)
}
