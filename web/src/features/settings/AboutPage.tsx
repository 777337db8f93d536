import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { Button } from '@/components/Button'
import { TextArea, TextField } from '@/components/Field'
import { Loaded } from '@/components/States'
import { guidanceQuery, limits, saveAbout } from '@/entities/guidance/guidance'
import { type About, errorMessage } from '@/lib/api'
import { useTask } from '@/lib/ui/task'
import { toast, toastFailure } from '@/lib/ui/toast'
import styles from './ChangePasswordPage.module.css'
import page from './SessionsPage.module.css'
import { SettingPage } from './SettingPage'
import { texts } from './texts'

const words = texts.about

/** AboutPage edits the user's self-description, which is passed to every skill. */
export function AboutPage() {
  const query = useQuery(guidanceQuery)
  return (
    <SettingPage title={words.title}>
      <p className={page.lead}>{words.lead}</p>
      <Loaded query={query}>{({ about }) => <Form saved={about} />}</Loaded>
    </SettingPage>
  )
}

function Form({ saved }: { saved: About }) {
  const [about, setAbout] = useState(saved)
  const { busy, run } = useTask()
  const errors = errorsOf(about)
  const field = (name: keyof About) => ({
    label: words.fields[name].label,
    hint: words.fields[name].hint,
    error: errors[name],
    optional: true,
    value: about[name],
    onChange: (event: { target: { value: string } }) => setAbout({ ...about, [name]: event.target.value }),
  })
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (Object.keys(errors).length > 0) return
    void run(
      async () => {
        setAbout(await saveAbout(about))
        toast(words.saved, { tone: 'success' })
      },
      (cause) => toastFailure(words.notSaved(errorMessage(cause, ''))),
    )
  }
  return (
    <form className={styles.form} noValidate onSubmit={submit}>
      <TextField {...field('name')} autoComplete="nickname" placeholder={words.fields.name.example} />
      <TextField
        {...field('department')}
        autoComplete="organization-title"
        placeholder={words.fields.department.example}
      />
      <TextArea {...field('tone')} placeholder={words.fields.tone.example} />
      <TextArea {...field('signature')} placeholder={words.fields.signature.example} />
      <div className={styles.actions}>
        <Button type="submit" variant="primary" size="lg" loading={busy}>
          {words.save}
        </Button>
      </div>
    </form>
  )
}

function errorsOf(about: About): Partial<Record<keyof About, string>> {
  const most = { name: limits.line, department: limits.line, tone: limits.text, signature: limits.text }
  const long = (Object.keys(most) as (keyof About)[]).filter((name) => [...about[name]].length > most[name])
  return Object.fromEntries(long.map((name) => [name, words.tooLong(most[name])]))
}
