import { useQuery } from '@tanstack/react-query'
import { ArrowLeft } from 'lucide-react'
import { type FormEvent, useEffect, useRef, useState } from 'react'
import { useNavigate } from 'react-router'
import { Button, ButtonLink } from '@/components/Button'
import { FieldErrorText } from '@/components/Field'
import { ErrorState } from '@/components/States'
import type { SamlConfig } from '@/lib/api'
import * as admin from '@/lib/api/admin'
import { toast } from '@/lib/ui/toast'
import { BoxesLoading } from '../parts/Loading'
import { Page } from '../parts/Page'
import { UnsavedGuard } from '../parts/UnsavedGuard'
import { samlQuery, storeSaml } from '../queries'
import { texts } from '../texts'
import { AttributeFields, DomainFields, SourceFields } from './fields'
import styles from './Saml.module.css'
import {
  checkValues,
  initialValues,
  isDirty,
  requestOf,
  type SamlErrors,
  type SamlValues,
  serverErrors,
} from './samlForm'

const words = texts.samlEdit

/** Sets the single sign-on. */
export function SamlEditPage() {
  const { data: config, isError, refetch } = useQuery(samlQuery)
  return (
    <Page
      title={words.title}
      actions={
        <ButtonLink to="/admin/saml">
          <ArrowLeft size={16} aria-hidden />
          {words.back}
        </ButtonLink>
      }
    >
      {config === undefined && isError && <ErrorState onRetry={() => void refetch()} />}
      {config === undefined && !isError && <BoxesLoading heights={[300, 160]} />}
      {config && <Form config={config} />}
    </Page>
  )
}

function Form({ config: loaded }: { config: SamlConfig }) {
  // The form keeps the values as they were when it was opened.
  const [config] = useState(loaded)
  const [values, setValues] = useState(() => initialValues(config))
  const [errors, setErrors] = useState<SamlErrors>({})
  const [rest, setRest] = useState('')
  const [busy, setBusy] = useState(false)
  const [failures, setFailures] = useState(0)
  const saved = useRef(false)
  const form = useRef<HTMLFormElement>(null)
  const navigate = useNavigate()
  const request = requestOf(config, values)

  // After rendering, so that the fields show their errors.
  useEffect(() => {
    if (failures > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [failures])

  const fail = (next: SamlErrors, other = '') => {
    setErrors(next)
    setRest(other)
    setBusy(false)
    setFailures(failures + 1)
  }
  const submit = async (event: FormEvent) => {
    event.preventDefault()
    if (busy) return
    const wrong = checkValues(config, values)
    if (Object.keys(wrong).length > 0) return fail(wrong)
    setBusy(true)
    try {
      if (request !== null) {
        await storeSaml(await admin.putSamlConfig(request))
        toast(words.saved, { tone: 'success' })
      }
      saved.current = true
      void navigate('/admin/saml')
    } catch (cause) {
      const { errors: fields, rest: other } = serverErrors(cause, values.way)
      fail(fields, other)
    }
  }
  const fields = {
    config,
    values,
    errors,
    onChange: (next: Partial<SamlValues>) => {
      setValues({ ...values, ...next })
      const corrected = Object.keys(next).map((name) => [name, undefined])
      setErrors({ ...errors, ...(Object.fromEntries(corrected) as SamlErrors) })
      setRest('')
    },
  }

  return (
    <form className={styles.form} ref={form} noValidate onSubmit={(event) => void submit(event)}>
      <SourceFields {...fields} />
      <AttributeFields {...fields} />
      <DomainFields {...fields} />
      <div role="alert">{rest !== '' && <FieldErrorText>{rest}</FieldErrorText>}</div>
      <div className={styles.formActions}>
        <Button type="submit" variant="primary" size="lg" loading={busy}>
          {words.save}
        </Button>
        <ButtonLink to="/admin/saml" variant="quiet" size="lg">
          {texts.common.cancel}
        </ButtonLink>
      </div>
      <UnsavedGuard dirty={isDirty(config, values)} released={saved} words={words.unsaved} />
    </form>
  )
}
