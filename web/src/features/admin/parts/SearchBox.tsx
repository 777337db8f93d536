import { useEffect, useRef, useState } from 'react'
import { SearchField } from '@/components/SearchField'

const PAUSE_MS = 300
/** The API's maximum number of characters. */
const MOST = 100

/** A search field that queries the server when typing pauses. `value` is the URL's value. */
export function SearchBox({
  label,
  value,
  onChange,
}: {
  label: string
  value: string
  onChange: (value: string) => void
}) {
  const [text, setText] = useState(value)
  const sent = useRef(value)

  // Other navigation has changed the URL: going back, or 条件を消す.
  useEffect(() => {
    if (value === sent.current) return
    sent.current = value
    setText(value)
  }, [value])

  const latest = useRef(onChange)
  useEffect(() => {
    latest.current = onChange
  })
  useEffect(() => {
    const next = text.trim().slice(0, MOST)
    if (next === sent.current) return
    const send = () => {
      sent.current = next
      latest.current(next)
    }
    const timer = setTimeout(send, next === '' ? 0 : PAUSE_MS)
    return () => clearTimeout(timer)
  }, [text])

  return <SearchField label={label} value={text} onChange={setText} />
}
