import { Select, TextArea, TextField } from '@/components/Field'
import type { ManagedNotice } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { type Fields, fieldOf } from '@/lib/ui/form'
import { formatNumber } from '@/lib/ui/numbers'
import { formatJapan, fromJapan } from '../format'
import { notices, notice as words } from '../texts'
import styles from './Notice.module.css'
import { limits, type NoticeValues } from './noticeForm'

const { fields: labels } = words

interface NoticeFieldsProps extends Fields<NoticeValues> {
  /** The notice being changed. */
  notice: ManagedNotice | undefined
}

/** The fields of a notice. */
export function NoticeFields(fields: NoticeFieldsProps) {
  const length = [...fields.values.body].length
  return (
    <>
      <TextField label={labels.title} maxLength={limits.title} {...fieldOf(fields, 'title')} />
      <TextArea
        label={labels.body}
        optional
        hint={
          <>
            {labels.bodyHint} {words.count(formatNumber(length), formatNumber(limits.body))}
          </>
        }
        rows={6}
        {...fieldOf(fields, 'body')}
      />
      <TextField
        label={labels.url}
        optional
        hint={labels.urlHint}
        type="url"
        inputMode="url"
        {...fieldOf(fields, 'url')}
      />
      <Choices {...fields} />
      <Times {...fields} />
    </>
  )
}

function Choices(fields: NoticeFieldsProps) {
  const published = fields.notice?.state === 'published'
  return (
    <div className={styles.pair}>
      <Select label={labels.level} {...fieldOf(fields, 'level')} options={Object.entries(notices.levels)} />
      <Select
        label={labels.audience}
        hint={published && labels.fixed}
        disabled={published}
        {...fieldOf(fields, 'audience')}
        options={Object.entries(notices.audiences)}
      />
    </div>
  )
}

function Times(fields: NoticeFieldsProps) {
  const { notice, values } = fields
  const published = notice?.state === 'published'
  const from = published ? labels.fixed : notice ? labels.fromScheduled : labels.fromHint
  // In words, because a browser shows the fields in its own language.
  const inWords = (value: string) => {
    const at = fromJapan(value)
    return at && formatJapan(at)
  }
  return (
    <div className={cx(styles.pair, styles.times)}>
      <TextField
        label={labels.from}
        optional={!published}
        type="datetime-local"
        hint={published ? from : (inWords(values.from) ?? from)}
        disabled={published}
        {...fieldOf(fields, 'from')}
      />
      <TextField
        label={labels.to}
        optional
        type="datetime-local"
        hint={inWords(values.to) ?? labels.toHint}
        min={values.from}
        {...fieldOf(fields, 'to')}
      />
    </div>
  )
}
