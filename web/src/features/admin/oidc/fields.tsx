import { Select, TextField } from '@/components/Field'
import type { OidcConfig } from '@/lib/api'
import { Checkbox } from '@/lib/ui/Checkbox'
import { type Fields, fieldOf } from '@/lib/ui/form'
import { AttributeField, exact, UrlField } from '../saml/fields'
import styles from '../saml/Saml.module.css'
import { oidcEdit as words } from '../texts'
import type { OidcValues } from './oidcForm'

interface FieldsProps extends Fields<OidcValues> {
  config: OidcConfig
}

/** The identity provider and the client. */
export function ProviderFields(fields: FieldsProps) {
  const { config, values, onChange } = fields
  return (
    <fieldset className={styles.group}>
      <legend>{words.source}</legend>
      <UrlField label={words.issuer} hint={words.issuerHint} {...fieldOf(fields, 'issuer')} />
      <TextField {...exact} label={words.clientId} maxLength={512} {...fieldOf(fields, 'clientId')} />
      <TextField
        {...exact}
        label={words.secret}
        optional
        hint={config.has_client_secret ? words.secretKept : words.secretHint}
        type="password"
        autoComplete="new-password"
        maxLength={512}
        disabled={values.removeSecret}
        {...fieldOf(fields, 'secret')}
      />
      {config.has_client_secret && (
        <div className={styles.domains}>
          <label>
            <Checkbox
              checked={values.removeSecret}
              onChange={(event) => onChange({ removeSecret: event.target.checked, secret: '' })}
            />
            {words.removeSecret}
          </label>
        </div>
      )}
      <TextField
        {...exact}
        label={words.scopes}
        hint={words.scopesHint}
        maxLength={512}
        {...fieldOf(fields, 'scopes')}
      />
    </fieldset>
  )
}

/** The claims with the address, the name and the groups. */
export function ClaimFields(fields: FieldsProps) {
  return (
    <fieldset className={styles.group}>
      <legend>{words.claims}</legend>
      <AttributeField
        label={words.email}
        hint={words.emailHint}
        optional={false}
        common={['email', 'preferred_username', 'upn']}
        {...fieldOf(fields, 'email')}
      />
      <AttributeField
        label={words.name}
        hint={words.nameHint}
        common={['name', 'preferred_username']}
        {...fieldOf(fields, 'name')}
      />
      <AttributeField
        label={words.groups}
        hint={words.groupsHint}
        common={['groups']}
        {...fieldOf(fields, 'groups')}
      />
    </fieldset>
  )
}

/** The requirements on the authentication. */
export function RequestFields(fields: FieldsProps) {
  return (
    <fieldset className={styles.group}>
      <legend>{words.request}</legend>
      <Select label={words.prompt} {...fieldOf(fields, 'prompt')} options={Object.entries(words.prompts)} />
      <TextField
        {...exact}
        label={words.acr}
        optional
        hint={words.acrHint}
        maxLength={512}
        {...fieldOf(fields, 'acr')}
      />
      <TextField
        {...exact}
        label={words.maxAge}
        optional
        hint={words.maxAgeHint}
        inputMode="numeric"
        maxLength={7}
        {...fieldOf(fields, 'maxAge')}
      />
    </fieldset>
  )
}
