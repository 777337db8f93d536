import { useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { useNavigate } from 'react-router'
import { call, type SamlConfig } from '@/lib/api'
import { useForm } from '@/lib/ui/form'
import { toast } from '@/lib/ui/toast'
import { samlQuery, storeSaml } from '../queries'
import { samlEdit as words } from '../texts'
import { EditPage, FormEnd } from './EditPage'
import { AttributeFields, DomainFields, SourceFields } from './fields'
import styles from './Saml.module.css'
import { checkValues, initialValues, isDirty, requestOf, type SamlValues, serverErrors } from './samlForm'

const settings = '/admin/saml'

/** Sets the single sign-on. */
export function SamlEditPage() {
  const query = useQuery(samlQuery)
  return (
    <EditPage query={query} words={words} settings={settings}>
      {(config) => <Form config={config} />}
    </EditPage>
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
      void navigate(settings)
    },
    explain: (cause, next) => serverErrors(cause, next.way),
  })
  const fields = { config, values, errors, onChange: change }

  return (
    <form className={styles.form} {...form}>
      <SourceFields {...fields} />
      <AttributeFields {...fields} />
      <DomainFields {...fields} />
      <FormEnd
        error={rest}
        busy={busy}
        dirty={isDirty(config, values)}
        saved={saved}
        words={words}
        settings={settings}
      />
    </form>
  )
}
