import { FileText } from 'lucide-react'
import { type ChangeEvent, type ComponentProps, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { TextArea } from '@/components/Field'
import styles from './FileField.module.css'

interface FileFieldProps extends ComponentProps<typeof TextArea> {
  /** The button that chooses a file. */
  file: {
    readonly label: string
    readonly accept: string
    /** The maximum size in bytes. */
    readonly most: number
    /** The error messages. */
    readonly tooBig: string
    readonly unreadable: string
  }
  /** Receives the content and the name of a file. It throws an error if it cannot read the content. */
  onRead: (bytes: Uint8Array, name: string) => void
  /** A note next to the button. */
  note?: string
}

/** FileField is a field for a text that can be typed, pasted or read from a file. */
export function FileField({ file, onRead, note, error, onChange, ...field }: FileFieldProps) {
  const input = useRef<HTMLInputElement>(null)
  const [fileError, setFileError] = useState<string>()
  const read = async (event: ChangeEvent<HTMLInputElement>) => {
    const chosen = event.target.files?.[0]
    event.target.value = ''
    if (chosen === undefined) return
    setFileError(undefined)
    if (chosen.size > file.most) return setFileError(file.tooBig)
    try {
      onRead(new Uint8Array(await chosen.arrayBuffer()), chosen.name)
    } catch {
      setFileError(file.unreadable)
    }
  }
  return (
    <>
      <TextArea
        {...field}
        error={error ?? fileError}
        onChange={(event) => {
          setFileError(undefined)
          onChange?.(event)
        }}
      />
      <div className={styles.file}>
        <input
          ref={input}
          type="file"
          accept={file.accept}
          hidden
          aria-label={file.label}
          onChange={(event) => void read(event)}
        />
        <Button size="sm" onClick={() => input.current?.click()}>
          <FileText size={15} aria-hidden />
          {file.label}
        </Button>
        <span role="status">{note}</span>
      </div>
    </>
  )
}
