import { useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { useNavigate } from 'react-router'
import { call, type OidcConfig } from '@/lib/api'
import { useForm } from '@/lib/ui/form'
import { toast } from '@/lib/ui/toast'
import { oidcQuery, storeOidc } from '../queries'
import { EditPage, FormEnd } from '../saml/EditPage'
import { DomainFields } from '../saml/fields'
import styles from '../saml/Saml.module.css'
import { oidcEdit as words } from '../texts'
import { ClaimFields, ProviderFields, RequestFields } from './fields'
import { checkValues, initialValues, type OidcValues, requestOf, serverErrors } from './oidcForm'

const settings = '/admin/saml/oidc'

/** Sets the single sign-on by OpenID Connect. */
export function OidcEditPage() {
  const query = useQuery(oidcQuery)
  return (
    <EditPage query={query} words={words} settings={settings}>
      {(config) => <Form config={config} />}
    </EditPage>
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
      void navigate(settings)
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
      <FormEnd error={rest} busy={busy} dirty={dirty} saved={saved} words={words} settings={settings} />
    </form>
  )
}
