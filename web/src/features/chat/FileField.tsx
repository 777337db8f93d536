import { Field } from '@/components/Field'
import { rememberSources, takeUploaded, useSource } from '@/entities/source/dataSources'
import { uploads } from '@/entities/source/uploads'
import { AttachMenu } from './AttachMenu'
import { FileChip, UploadChip } from './Attachments'
import styles from './FileField.module.css'
import { useUploads } from './questionFiles'

interface FileFieldProps {
  readonly label: string
  readonly name: string
  readonly optional: boolean | string
  readonly required: boolean
  readonly error: string | undefined
  readonly disabled: boolean
  /** The id of the data source that is chosen, or ''. */
  readonly value: string
  /** What an upload for it is called. */
  readonly target: string
  readonly onChange: (value: string) => void
}

/** A field of a form that takes one file: an upload, or one of those that were uploaded before. */
export function FileField({
  target,
  value,
  name,
  disabled,
  onChange,
  label,
  optional,
  error,
}: FileFieldProps) {
  const uploading = useUploads(target)
  const empty = value === '' && uploading.length === 0
  return (
    <Field label={label} optional={optional} error={error}>
      {(ids) => (
        <div className={styles.box} data-invalid={ids['aria-invalid']}>
          {!empty && (
            <ul className={styles.list}>
              {uploading.map((upload) => (
                <UploadChip key={upload.id} upload={upload} />
              ))}
              {uploading.length === 0 && (
                <Chosen id={value} disabled={disabled} onRemove={() => onChange('')} />
              )}
            </ul>
          )}
          <AttachMenu
            id={ids.id}
            describedBy={ids['aria-describedby']}
            name={name}
            single
            disabled={disabled}
            chosen={new Set([value])}
            onChoose={(source) => {
              for (const { id } of uploading) uploads.remove(id)
              rememberSources([source])
              onChange(source.id)
            }}
            onFiles={(files) => uploadTo(target, files, onChange)}
          />
        </div>
      )}
    </Field>
  )
}

/** Uploads the first of some files for a field, in place of the one that is being uploaded for it. */
export function uploadTo(target: string, files: readonly File[], onSent: (id: string) => void): void {
  for (const { id, to } of uploads.uploads) if (to?.name === target) uploads.remove(id)
  uploads.add(files.slice(0, 1), {
    name: target,
    onSent: (uploaded) => {
      takeUploaded(uploaded, true)
      rememberSources([uploaded.source])
      onSent(uploaded.source.id)
    },
  })
}

function Chosen({ id, disabled, onRemove }: { id: string; disabled: boolean; onRemove: () => void }) {
  const { data } = useSource(id)
  return <FileChip file={{ source: data, used: true }} disabled={disabled} onRemove={onRemove} />
}
