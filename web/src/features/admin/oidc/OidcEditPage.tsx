import { useQuery } from '@tanstack/react-query'
import { ArrowLeft } from 'lucide-react'
import { useRef, useState } from 'react'
import { useNavigate } from 'react-router'
import { Button, ButtonLink } from '@/components/Button'
import { FieldErrorText } from '@/components/Field'
import { Loaded } from '@/components/States'
import { call, type OidcConfig } from '@/lib/api'
import { useForm } from '@/lib/ui/form'
import { toast } from '@/lib/ui/toast'
import { BoxesLoading } from '../parts/Loading'
import { Page } from '../parts/Page'
import { UnsavedGuard } from '../parts/UnsavedGuard'
import { oidcQuery, storeOidc } from '../queries'
import { DomainFields } from '../saml/fields'
import styles from '../saml/Saml.module.css'
import { texts } from '../texts'
import { ClaimFields, ProviderFields, RequestFields } from './fields'
import { checkValues, initialValues, type OidcValues, requestOf, serverErrors } from './oidcForm'

const words = texts.oidcEdit

/** Sets the single sign-on by OpenID Connect. */
export function OidcEditPage() {
  const query = useQuery(oidcQuery)
  return (
    <Page
      title={words.title}
      actions={
        <ButtonLink to="/admin/saml/oidc">
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

function Form({ config: loaded }: { config: OidcConfig }) {
  // The form keeps the values as they were when it was opened.
  const [config] = useState(loaded)
  const saved = useRef(false)
  const navigate = useNavigate()
  const { values, errors, rest, busy, change, form } = useForm<OidcValues>({
    initial: () => initialValues(config),
    check: (next) => checkValues(config, next),
    send: async (next) => {
      await storeOidc(await call('putOIDCConfig', { body: requestOf(config, next) }))
      toast(words.saved, { tone: 'success' })
      saved.current = true
      void navigate('/admin/saml/oidc')
    },
    explain: serverErrors,
  })
  const fields = { config, values, errors, onChange: change }
  const dirty = JSON.stringify(values) !== JSON.stringify(initialValues(config))

  return (
    <form className={styles.form} {...form}>
      <ProviderFields {...fields} />
      <ClaimFields {...fields} />
      <RequestFields {...fields} />
      <DomainFields {...fields} />
      <div role="alert">{rest !== '' && <FieldErrorText>{rest}</FieldErrorText>}</div>
      <div className={styles.formActions}>
        <Button type="submit" variant="primary" size="lg" loading={busy}>
          {words.save}
        </Button>
        <ButtonLink to="/admin/saml/oidc" variant="quiet" size="lg">
          {texts.common.cancel}
        </ButtonLink>
      </div>
      <UnsavedGuard dirty={dirty} released={saved} words={words.unsaved} />
    </form>
  )
}
