import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { TextArea } from '@/components/Field'
import { Loaded } from '@/components/States'
import { UnsavedGuard } from '@/components/UnsavedGuard'
import { guidanceQuery, limits, saveInstructions } from '@/entities/guidance/guidance'
import { formatNumber } from '@/lib/ui/numbers'
import { BoxesLoading } from '../parts/Loading'
import { Page } from '../parts/Page'
import { useSave } from '../parts/useSave'
import { instructions as words } from '../texts'
import styles from './InstructionsPage.module.css'

/** The organization's instructions for every skill. */
export function InstructionsPage() {
  const query = useQuery(guidanceQuery)
  return (
    <Page title={words.title} lead={words.lead}>
      <Loaded query={query} loading={<BoxesLoading heights={[240]} />}>
        {(data) => <Form loaded={data.instructions} />}
      </Loaded>
    </Page>
  )
}

function Form({ loaded }: { loaded: string }) {
  const [saved, setSaved] = useState(loaded)
  const [text, setText] = useState(loaded)
  const released = useRef(false)
  const length = [...text].length
  const { busy, save } = useSave(words, async () => {
    const stored = await saveInstructions(text)
    setSaved(stored)
    // Text typed during the request remains.
    setText((now) => (now === text ? stored : now))
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (length <= limits.instructions) void save()
  }
  return (
    <form className={styles.form} noValidate onSubmit={submit}>
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
      <UnsavedGuard dirty={text !== saved} released={released} />
    </form>
  )
}
