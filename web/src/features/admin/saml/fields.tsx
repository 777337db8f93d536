import { type ComponentProps, useId } from 'react'
import { ChoiceChip } from '@/components/Chip'
import { FieldErrorText, TextField } from '@/components/Field'
import type { SamlConfig } from '@/lib/api'
import { Checkbox } from '@/lib/ui/Checkbox'
import { type Fields, fieldOf } from '@/lib/ui/form'
import { formatNumber } from '@/lib/ui/numbers'
import { FileField } from '../parts/FileField'
import { samlEdit as words } from '../texts'
import { certificateText } from './certificates'
import { MAX_METADATA, summarizeMetadata } from './metadata'
import styles from './Saml.module.css'
import { type SamlValues, ways } from './samlForm'

interface FieldsProps extends Fields<SamlValues> {
  config: SamlConfig
}

/** Attributes of a field for a value that no dictionary knows. */
export const exact = { spellCheck: false, autoCapitalize: 'off', autoComplete: 'off' } as const

/** The identity provider's settings: by metadata, or field by field. */
export function SourceFields(fields: FieldsProps) {
  const { values, onChange } = fields
  return (
    <fieldset className={styles.group}>
      <legend>{words.source}</legend>
      <div className={styles.ways} role="group" aria-label={words.ways}>
        {ways.map((way) => (
          <ChoiceChip key={way} selected={values.way === way} onClick={() => onChange({ way })}>
            {words.wayNames[way]}
          </ChoiceChip>
        ))}
      </div>
      {values.way === 'url' && (
        <UrlField label={words.url} hint={words.urlHint} {...fieldOf(fields, 'url')} />
      )}
      {values.way === 'metadata' && <MetadataField {...fields} />}
      {values.way === 'fields' && <SingleFields {...fields} />}
    </fieldset>
  )
}

/** A field for a URL of the identity provider. */
export function UrlField(field: ComponentProps<typeof TextField>) {
  return (
    <TextField {...exact} {...field} type="url" inputMode="url" maxLength={2048} placeholder="https://" />
  )
}

function MetadataField(fields: FieldsProps) {
  const { config, values, onChange } = fields
  const glance = summarizeMetadata(values.xml)
  return (
    <FileField
      className={styles.mono}
      label={words.xml}
      hint={config.idp_entity_id === '' ? words.xmlHint : words.xmlKept}
      spellCheck={false}
      autoCapitalize="off"
      rows={8}
      {...fieldOf(fields, 'xml')}
      file={{
        label: words.file,
        accept: '.xml,text/xml,application/xml,application/samlmetadata+xml',
        most: MAX_METADATA,
        tooBig: words.fileTooBig,
        unreadable: words.fileUnreadable,
      }}
      note={glance.kind === 'found' ? `${words.found}：${glance.entityId}` : ''}
      onRead={(bytes) => onChange({ xml: new TextDecoder('utf-8', { fatal: true }).decode(bytes) })}
    />
  )
}

function SingleFields(fields: FieldsProps) {
  const { config, values, onChange } = fields
  const kept = config.idp_certificates.length
  return (
    <>
      <TextField {...exact} label={words.entity} maxLength={1024} {...fieldOf(fields, 'entityId')} />
      <UrlField label={words.sso} {...fieldOf(fields, 'ssoUrl')} />
      <FileField
        className={styles.mono}
        label={words.certificates}
        optional={kept > 0}
        hint={kept > 0 ? words.certificatesKept(formatNumber(kept)) : words.certificatesHint}
        placeholder="-----BEGIN CERTIFICATE-----"
        spellCheck={false}
        autoCapitalize="off"
        rows={5}
        {...fieldOf(fields, 'certificates')}
        file={{
          label: words.certificateFile,
          accept: '.pem,.crt,.cer,.der,application/x-x509-ca-cert,application/x-pem-file',
          most: 65_536,
          tooBig: words.fileUnreadable,
          unreadable: words.fileUnreadable,
        }}
        onRead={(bytes) =>
          onChange({
            certificates: [values.certificates.trim(), certificateText(bytes)].filter(Boolean).join('\n'),
          })
        }
      />
    </>
  )
}

const emailAttributes = [
  'email',
  'mail',
  'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
]
const nameAttributes = ['displayName', 'name', 'http://schemas.microsoft.com/identity/claims/displayname']

/** The attributes with the address and the name. */
export function AttributeFields(fields: FieldsProps) {
  return (
    <fieldset className={styles.group}>
      <legend>{words.attributes}</legend>
      <AttributeField
        label={words.email}
        hint={words.emailHint}
        common={emailAttributes}
        {...fieldOf(fields, 'emailAttribute')}
      />
      <AttributeField
        label={words.name}
        hint={words.nameHint}
        common={nameAttributes}
        {...fieldOf(fields, 'nameAttribute')}
      />
    </fieldset>
  )
}

interface AttributeFieldProps extends ReturnType<typeof fieldOf<SamlValues, 'emailAttribute'>> {
  label: string
  hint: string
  optional?: boolean
  common: readonly string[]
}

/** A field for the name of a value that the identity provider sends, with common names. */
export function AttributeField({ hint, optional = true, common, ...field }: AttributeFieldProps) {
  return (
    <TextField
      {...exact}
      {...field}
      optional={optional}
      hint={
        <>
          {hint}
          <span className={styles.suggestions}>
            {words.common}
            {common.map((item) => (
              <button
                key={item}
                type="button"
                className={styles.suggestion}
                onClick={() => field.onChange({ target: { value: item } })}
              >
                {item}
              </button>
            ))}
          </span>
        </>
      }
      maxLength={256}
    />
  )
}

interface DomainFieldsProps {
  readonly config: { readonly allowed_email_domains: readonly string[] }
  readonly values: { readonly domains: readonly string[] }
  readonly errors: { readonly domains?: string | undefined }
  readonly onChange: (next: { domains: string[] }) => void
}

/** The mail domains that may sign in, chosen from the organization's domains. */
export function DomainFields({ config, values, errors, onChange }: DomainFieldsProps) {
  const id = useId()
  const { allowed_email_domains: allowed } = config
  const toggle = (domain: string, on: boolean) =>
    onChange({ domains: allowed.filter((item) => (item === domain ? on : values.domains.includes(item))) })
  return (
    <fieldset className={styles.group} aria-describedby={id}>
      <legend>{words.domains}</legend>
      <p className={styles.quiet} id={id}>
        {allowed.length === 0 ? words.domainsNone : words.domainsHint}
      </p>
      <div className={styles.domains}>
        {allowed.map((domain) => (
          <label key={domain}>
            <Checkbox
              checked={values.domains.includes(domain)}
              aria-invalid={errors.domains ? true : undefined}
              onChange={(event) => toggle(domain, event.target.checked)}
            />
            {domain}
          </label>
        ))}
      </div>
      <div role="alert">{errors.domains && <FieldErrorText>{errors.domains}</FieldErrorText>}</div>
    </fieldset>
  )
}
