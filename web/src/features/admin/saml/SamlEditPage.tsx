import { useQuery } from '@tanstack/react-query'
import { ArrowLeft } from 'lucide-react'
import { useRef, useState } from 'react'
import { useNavigate } from 'react-router'
import { Button, ButtonLink } from '@/components/Button'
import { FieldErrorText } from '@/components/Field'
import { Loaded } from '@/components/States'
import { UnsavedGuard } from '@/components/UnsavedGuard'
import { call, type SamlConfig } from '@/lib/api'
import { useForm } from '@/lib/ui/form'
import { toast } from '@/lib/ui/toast'
import { BoxesLoading } from '../parts/Loading'
import { Page } from '../parts/Page'
import { samlQuery, storeSaml } from '../queries'
import { texts } from '../texts'
import { AttributeFields, DomainFields, SourceFields } from './fields'
import styles from './Saml.module.css'
import { checkValues, initialValues, isDirty, requestOf, type SamlValues, serverErrors } from './samlForm'

const words = texts.samlEdit

/** Sets the single sign-on. */
export function SamlEditPage() {
  const query = useQuery(samlQuery)
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
      <Loaded query={query} loading={<BoxesLoading heights={[300, 160]} />}>
        {(config) => <Form config={config} />}
      </Loaded>
    </Page>
  )
}

function Form({ config: loaded }: { config: SamlConfig }) {
  // The form keeps the values as they were when it was opened.
  const [config] = useState(loaded)
  const saved = useRef(false)
  const navigate = useNavigate()
  const { values, errors, rest, busy, change, form } = useForm<SamlValues>({
    initial: () => initialValues(config),
    check: (next) => checkValues(config, next),
    send: async (next) => {
      const request = requestOf(config, next)
      if (request !== null) {
        await storeSaml(await call('putSAMLConfig', { body: request }))
        toast(words.saved, { tone: 'success' })
      }
      saved.current = true
      void navigate('/admin/saml')
    },
    explain: (cause, next) => serverErrors(cause, next.way),
  })
  const fields = { config, values, errors, onChange: change }

  return (
    <form className={styles.form} {...form}>
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
