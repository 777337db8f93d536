import { useState } from 'react'
import { FileField } from '../../parts/FileField'
import { inviting as words } from '../../texts'
import styles from '../Dialogs.module.css'
import { decodeText, MAX_FILE_BYTES } from './csv'

const file = {
  label: words.file,
  accept: '.csv,.tsv,.txt,text/csv,text/plain',
  most: MAX_FILE_BYTES,
  tooBig: words.fileTooBig,
  unreadable: words.fileUnreadable,
}

interface ListFieldProps {
  label: string
  hint: string
  placeholder: string
  text: string
  onText: (text: string) => void
}

/** ListField is a field for a list of people, which can be pasted or read from a file. */
export function ListField({ text, onText, ...field }: ListFieldProps) {
  const [note, setNote] = useState<string>(words.fileHint)
  return (
    <div className={styles.fields}>
      <FileField
        {...field}
        className={styles.list}
        spellCheck={false}
        maxLength={MAX_FILE_BYTES}
        value={text}
        onChange={(event) => onText(event.target.value)}
        file={file}
        note={note}
        onRead={(bytes, name) => {
          setNote(words.fileHint)
          onText(decodeText(bytes))
          setNote(words.fileRead(name))
        }}
      />
    </div>
  )
}
