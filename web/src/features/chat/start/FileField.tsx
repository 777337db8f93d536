import { useRef } from 'react'
import { Button } from '@/components/Button'
import { Field } from '@/components/Field'
import { rememberSources, useSource } from '@/entities/source/dataSources'
import { uploads } from '@/entities/source/uploads'
import { AttachMenu } from '../composer/AttachMenu'
import { FileChip, UploadChip } from '../composer/Attachments'
import { uploadFiles, useUploads } from '../draft/questionFiles'
import { texts } from '../texts'
import styles from './FileField.module.css'

interface FileFieldProps {
  readonly label: string
  readonly name: string
  readonly optional: boolean | string
  readonly required: boolean
  readonly error: string | undefined
  readonly disabled: boolean
  /** The id of the chosen data source, or ''. */
  readonly value: string
  /** The name of this field's uploads. */
  readonly target: string
  readonly onChange: (value: string) => void
}

/** FileField is a form field for one file: a new upload or an earlier one. */
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
  const uploading = useUploads(uploads, target)
  const box = useRef<HTMLDivElement>(null)
  // The pressed button disappears with its file.
  const focusButton = () => box.current?.querySelector<HTMLElement>('[name]')?.focus()
  const empty = value === '' && uploading.length === 0
  return (
    <Field label={label} optional={optional} error={error}>
      {(ids) => (
        <div ref={box} className={styles.box} data-invalid={ids['aria-invalid']}>
          {!empty && (
            <ul className={styles.list}>
              {uploading.map((upload) => (
                <UploadChip key={upload.id} upload={upload} onRemoved={focusButton} />
              ))}
              {uploading.length === 0 && (
                <Chosen
                  id={value}
                  disabled={disabled}
                  onRemove={() => {
                    onChange('')
                    focusButton()
                  }}
                />
              )}
            </ul>
          )}
          <AttachMenu
            label={texts.files.attach}
            trigger={
              <Button id={ids.id} name={name} aria-describedby={ids['aria-describedby']} disabled={disabled}>
                {texts.files.choose}
              </Button>
            }
            files={{
              single: true,
              chosen: new Set([value]),
              onChoose: (source) => {
                for (const { id } of uploading) uploads.remove(id)
                rememberSources([source])
                onChange(source.id)
              },
              onFiles: (files) => uploadTo(target, files, onChange),
            }}
          />
        </div>
      )}
    </Field>
  )
}

/** uploadTo uploads the first of `files` for a field. It replaces the field's pending upload. */
export function uploadTo(target: string, files: readonly File[], onSent: (id: string) => void): void {
  for (const { id, to } of uploads.uploads) if (to?.name === target) uploads.remove(id)
  uploadFiles(target, files.slice(0, 1), onSent)
}

function Chosen({ id, disabled, onRemove }: { id: string; disabled: boolean; onRemove: () => void }) {
  const { data } = useSource(id)
  return <FileChip file={{ source: data, used: true }} disabled={disabled} onRemove={onRemove} />
}
