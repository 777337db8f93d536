import { Paperclip } from 'lucide-react'
import { useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { Field } from '@/components/Field'
import styles from './Start.module.css'
import { texts } from './texts'
import { uploadFile } from './upload'

interface FileFieldProps {
  readonly label: string
  readonly name: string
  readonly error: string | undefined
  readonly optional: boolean
  readonly disabled: boolean
  /** The id of the data source that was made of the file. */
  readonly value: string
  readonly onChange: (value: string) => void
}

/** A field for a file: it is uploaded when it is chosen, and the field's value is the data source's id. */
export function FileField({ label, name, error, optional, disabled, value, onChange }: FileFieldProps) {
  const input = useRef<HTMLInputElement>(null)
  const [file, setFile] = useState<{ name: string; state: 'uploading' | 'done' | 'failed' } | null>(null)

  const choose = async (chosen: File) => {
    setFile({ name: chosen.name, state: 'uploading' })
    onChange('')
    try {
      onChange(await uploadFile(chosen))
      setFile({ name: chosen.name, state: 'done' })
    } catch {
      setFile({ name: chosen.name, state: 'failed' })
    }
  }

  const trouble = file?.state === 'failed' ? texts.form.uploadFailed : error
  return (
    <Field label={label} error={trouble} optional={optional}>
      {(ids) => (
        <div className={styles.file}>
          <input
            {...ids}
            ref={input}
            className="visually-hidden"
            type="file"
            name={name}
            tabIndex={-1}
            disabled={disabled}
            onChange={(event) => {
              const chosen = event.target.files?.[0]
              event.target.value = ''
              if (chosen) void choose(chosen)
            }}
          />
          <Button
            disabled={disabled}
            loading={file?.state === 'uploading'}
            onClick={() => input.current?.click()}
          >
            <Paperclip size={16} aria-hidden />
            {value === '' ? texts.form.file : texts.form.fileChange}
          </Button>
          <span className={styles.fileName} role="status">
            {file?.state === 'uploading' ? texts.form.uploading(file.name) : value !== '' && file?.name}
          </span>
        </div>
      )}
    </Field>
  )
}
