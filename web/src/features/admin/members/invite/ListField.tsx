import { FileText } from 'lucide-react'
import { type ChangeEvent, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { TextArea } from '@/components/Field'
import { inviting as words } from '../../texts'
import styles from '../Dialogs.module.css'
import { decodeText, MAX_FILE_BYTES } from './csv'

interface ListFieldProps {
  label: string
  hint: string
  placeholder: string
  text: string
  onText: (text: string) => void
}

/** ListField is a field for a list of people, which can be pasted or read from a file. */
export function ListField({ label, hint, placeholder, text, onText }: ListFieldProps) {
  const file = useRef<HTMLInputElement>(null)
  const [error, setError] = useState<string>()
  const [said, setSaid] = useState('')

  const read = async (event: ChangeEvent<HTMLInputElement>) => {
    const chosen = event.target.files?.[0]
    event.target.value = ''
    if (chosen === undefined) return
    setError(undefined)
    setSaid('')
    if (chosen.size > MAX_FILE_BYTES) return setError(words.fileTooBig)
    try {
      onText(decodeText(new Uint8Array(await chosen.arrayBuffer())))
      setSaid(words.fileRead(chosen.name))
    } catch {
      setError(words.fileUnreadable)
    }
  }

  return (
    <div className={styles.fields}>
      <TextArea
        className={styles.list}
        label={label}
        hint={hint}
        placeholder={placeholder}
        spellCheck={false}
        maxLength={MAX_FILE_BYTES}
        value={text}
        error={error}
        onChange={(event) => {
          onText(event.target.value)
          setError(undefined)
        }}
      />
      <div className={styles.file}>
        <input
          ref={file}
          type="file"
          accept=".csv,.tsv,.txt,text/csv,text/plain"
          hidden
          aria-label={words.file}
          onChange={(event) => void read(event)}
        />
        <Button size="sm" onClick={() => file.current?.click()}>
          <FileText size={15} aria-hidden />
          {words.file}
        </Button>
        <span role="status">{said || words.fileHint}</span>
      </div>
    </div>
  )
}
