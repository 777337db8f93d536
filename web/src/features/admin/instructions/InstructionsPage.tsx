import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { TextArea } from '@/components/Field'
import { ErrorState } from '@/components/States'
import { guidanceQuery, limits, saveInstructions } from '@/entities/guidance/guidance'
import { toast, toastFailure } from '@/lib/ui/toast'
import { formatNumber } from '../format'
import { reason } from '../members/changes'
import { BoxesLoading } from '../parts/Loading'
import { Page } from '../parts/Page'
import { UnsavedGuard } from '../parts/UnsavedGuard'
import { texts } from '../texts'
import styles from './InstructionsPage.module.css'

const words = texts.instructions

/** The organization's instructions for every skill. */
export function InstructionsPage() {
  const { data, isError, refetch } = useQuery(guidanceQuery)
  return (
    <Page title={words.title} lead={words.lead}>
      {data === undefined &&
        (isError ? <ErrorState onRetry={() => void refetch()} /> : <BoxesLoading heights={[240]} />)}
      {data && <Form loaded={data.instructions} />}
    </Page>
  )
}

function Form({ loaded }: { loaded: string }) {
  const [saved, setSaved] = useState(loaded)
  const [text, setText] = useState(loaded)
  const [busy, setBusy] = useState(false)
  const released = useRef(false)
  const length = [...text].length
  const save = async (event?: FormEvent) => {
    event?.preventDefault()
    if (busy || length > limits.instructions) return
    setBusy(true)
    try {
      const stored = await saveInstructions(text)
      setSaved(stored)
      setText(stored)
      toast(words.saved, { tone: 'success' })
    } catch (cause) {
      toastFailure(words.notSaved(reason(cause)), () => void save())
    } finally {
      setBusy(false)
    }
  }
  return (
    <form className={styles.form} noValidate onSubmit={(event) => void save(event)}>
      <TextArea
        className={styles.text}
        label={words.label}
        hint={words.count(formatNumber(length), formatNumber(limits.instructions))}
        error={length > limits.instructions ? words.tooLong(formatNumber(limits.instructions)) : undefined}
        placeholder={words.example}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
      <Button type="submit" variant="primary" disabled={text === saved} loading={busy}>
        {words.save}
      </Button>
      <UnsavedGuard dirty={text !== saved} released={released} words={words.unsaved} />
    </form>
  )
}
