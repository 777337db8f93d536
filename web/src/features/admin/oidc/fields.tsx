import { Select, TextField } from '@/components/Field'
import type { OidcConfig } from '@/lib/api'
import { Checkbox } from '@/lib/ui/Checkbox'
import { AttributeField } from '../saml/fields'
import styles from '../saml/Saml.module.css'
import { oidcEdit as words } from '../texts'
import type { OidcErrors, OidcValues } from './oidcForm'

interface FieldsProps {
  config: OidcConfig
  values: OidcValues
  errors: OidcErrors
  onChange: (next: Partial<OidcValues>) => void
}

/** Attributes of a field for a value that no dictionary knows. */
const exact = { spellCheck: false, autoCapitalize: 'off', autoComplete: 'off' } as const

/** The identity provider and the client. */
export function ProviderFields({ config, values, errors, onChange }: FieldsProps) {
  return (
    <fieldset className={styles.group}>
      <legend>{words.source}</legend>
      <TextField
        {...exact}
        label={words.issuer}
        hint={words.issuerHint}
        type="url"
        inputMode="url"
        maxLength={2048}
        placeholder="https://"
        value={values.issuer}
        error={errors.issuer}
        onChange={(event) => onChange({ issuer: event.target.value })}
      />
      <TextField
        {...exact}
        label={words.clientId}
        maxLength={512}
        value={values.clientId}
        error={errors.clientId}
        onChange={(event) => onChange({ clientId: event.target.value })}
      />
      <TextField
        {...exact}
        label={words.secret}
        optional
        hint={config.has_client_secret ? words.secretKept : words.secretHint}
        type="password"
        autoComplete="new-password"
        maxLength={512}
        disabled={values.removeSecret}
        value={values.secret}
        error={errors.secret}
        onChange={(event) => onChange({ secret: event.target.value })}
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
        value={values.scopes}
        error={errors.scopes}
        onChange={(event) => onChange({ scopes: event.target.value })}
      />
    </fieldset>
  )
}

/** The claims with the address, the name and the groups. */
export function ClaimFields({ values, errors, onChange }: FieldsProps) {
  return (
    <fieldset className={styles.group}>
      <legend>{words.claims}</legend>
      <AttributeField
        label={words.email}
        hint={words.emailHint}
        optional={false}
        common={['email', 'preferred_username', 'upn']}
        value={values.email}
        error={errors.email}
        onChange={(email) => onChange({ email })}
      />
      <AttributeField
        label={words.name}
        hint={words.nameHint}
        common={['name', 'preferred_username']}
        value={values.name}
        error={errors.name}
        onChange={(name) => onChange({ name })}
      />
      <AttributeField
        label={words.groups}
        hint={words.groupsHint}
        common={['groups']}
        value={values.groups}
        error={errors.groups}
        onChange={(groups) => onChange({ groups })}
      />
    </fieldset>
  )
}

/** The requirements on the authentication. */
export function RequestFields({ values, errors, onChange }: FieldsProps) {
  return (
    <fieldset className={styles.group}>
      <legend>{words.request}</legend>
      <Select
        label={words.prompt}
        value={values.prompt}
        error={errors.prompt}
        onChange={(event) => onChange({ prompt: event.target.value })}
        options={Object.entries(words.prompts)}
      />
      <TextField
        {...exact}
        label={words.acr}
        optional
        hint={words.acrHint}
        maxLength={512}
        value={values.acr}
        error={errors.acr}
        onChange={(event) => onChange({ acr: event.target.value })}
      />
      <TextField
        {...exact}
        label={words.maxAge}
        optional
        hint={words.maxAgeHint}
        inputMode="numeric"
        maxLength={7}
        value={values.maxAge}
        error={errors.maxAge}
        onChange={(event) => onChange({ maxAge: event.target.value })}
      />
    </fieldset>
  )
}
