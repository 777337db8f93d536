import { Select, TextArea, TextField } from '@/components/Field'
import type { ManagedNotice } from '@/lib/api'
import { cx } from '@/lib/ui/cx'
import { formatNumber } from '@/lib/ui/numbers'
import { formatJapan, fromJapan } from '../format'
import { notices, notice as words } from '../texts'
import styles from './Notice.module.css'
import { limits, type NoticeErrors, type NoticeValues } from './noticeForm'

const { fields } = words

interface NoticeFieldsProps {
  /** The notice being changed. */
  notice: ManagedNotice | undefined
  values: NoticeValues
  errors: NoticeErrors
  onChange: (next: Partial<NoticeValues>) => void
}

/** The fields of a notice. */
export function NoticeFields(props: NoticeFieldsProps) {
  const { values, errors, onChange } = props
  return (
    <>
      <TextField
        label={fields.title}
        value={values.title}
        error={errors.title}
        maxLength={limits.title}
        onChange={(event) => onChange({ title: event.target.value })}
      />
      <TextArea
        label={fields.body}
        optional
        hint={
          <>
            {fields.bodyHint} {words.count(formatNumber([...values.body].length), formatNumber(limits.body))}
          </>
        }
        error={errors.body}
        rows={6}
        value={values.body}
        onChange={(event) => onChange({ body: event.target.value })}
      />
      <TextField
        label={fields.url}
        optional
        hint={fields.urlHint}
        error={errors.url}
        type="url"
        inputMode="url"
        value={values.url}
        onChange={(event) => onChange({ url: event.target.value })}
      />
      <Choices {...props} />
      <Times {...props} />
    </>
  )
}

function Choices({ notice, values, errors, onChange }: NoticeFieldsProps) {
  const published = notice?.state === 'published'
  return (
    <div className={styles.pair}>
      <Select
        label={fields.level}
        error={errors.level}
        value={values.level}
        onChange={(event) => onChange({ level: event.target.value as NoticeValues['level'] })}
        options={Object.entries(notices.levels)}
      />
      <Select
        label={fields.audience}
        error={errors.audience}
        hint={published && fields.fixed}
        disabled={published}
        value={values.audience}
        onChange={(event) => onChange({ audience: event.target.value as NoticeValues['audience'] })}
        options={Object.entries(notices.audiences)}
      />
    </div>
  )
}

function Times({ notice, values, errors, onChange }: NoticeFieldsProps) {
  const published = notice?.state === 'published'
  const from = published ? fields.fixed : notice ? fields.fromScheduled : fields.fromHint
  // In words, because a browser shows the fields in its own language.
  const inWords = (value: string) => {
    const at = fromJapan(value)
    return at && formatJapan(at)
  }
  return (
    <div className={cx(styles.pair, styles.times)}>
      <TextField
        label={fields.from}
        optional={!published}
        type="datetime-local"
        hint={published ? from : (inWords(values.from) ?? from)}
        error={errors.from}
        disabled={published}
        value={values.from}
        onChange={(event) => onChange({ from: event.target.value })}
      />
      <TextField
        label={fields.to}
        optional
        type="datetime-local"
        hint={inWords(values.to) ?? fields.toHint}
        error={errors.to}
        min={values.from}
        value={values.to}
        onChange={(event) => onChange({ to: event.target.value })}
      />
    </div>
  )
}
