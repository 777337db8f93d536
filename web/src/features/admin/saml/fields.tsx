import { FileText } from 'lucide-react'
import { type ChangeEvent, useId, useRef, useState } from 'react'
import { Button } from '@/components/Button'
import { ChoiceChip } from '@/components/Chip'
import { FieldErrorText, TextArea, TextField } from '@/components/Field'
import type { SamlConfig } from '@/lib/api'
import { Checkbox } from '@/lib/ui/Checkbox'
import { formatNumber } from '@/lib/ui/numbers'
import { samlEdit as words } from '../texts'
import { certificateText } from './certificates'
import { MAX_METADATA, summarizeMetadata } from './metadata'
import styles from './Saml.module.css'
import { type SamlErrors, type SamlValues, ways } from './samlForm'

interface FieldsProps {
  config: SamlConfig
  values: SamlValues
  errors: SamlErrors
  onChange: (next: Partial<SamlValues>) => void
}

/** The identity provider's settings: by metadata, or field by field. */
export function SourceFields(props: FieldsProps) {
  const { values, errors, onChange } = props
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
        <UrlField
          label={words.url}
          hint={words.urlHint}
          value={values.url}
          error={errors.url}
          onChange={(url) => onChange({ url })}
        />
      )}
      {values.way === 'metadata' && <MetadataField {...props} />}
      {values.way === 'fields' && <SingleFields {...props} />}
    </fieldset>
  )
}

interface UrlFieldProps {
  label: string
  hint?: string
  value: string
  error: string | undefined
  onChange: (value: string) => void
}

function UrlField({ onChange, ...field }: UrlFieldProps) {
  return (
    <TextField
      {...field}
      type="url"
      inputMode="url"
      spellCheck={false}
      autoCapitalize="off"
      autoComplete="off"
      maxLength={2048}
      placeholder="https://"
      onChange={(event) => onChange(event.target.value)}
    />
  )
}

function MetadataField({ config, values, errors, onChange }: FieldsProps) {
  const [fileError, setFileError] = useState<string>()
  const glance = summarizeMetadata(values.xml)
  return (
    <>
      <TextArea
        className={styles.mono}
        label={words.xml}
        hint={config.idp_entity_id === '' ? words.xmlHint : words.xmlKept}
        spellCheck={false}
        autoCapitalize="off"
        rows={8}
        value={values.xml}
        error={errors.xml ?? fileError}
        onChange={(event) => {
          setFileError(undefined)
          onChange({ xml: event.target.value })
        }}
      />
      <FileButton
        label={words.file}
        accept=".xml,text/xml,application/xml,application/samlmetadata+xml"
        most={MAX_METADATA}
        tooBig={words.fileTooBig}
        note={glance.kind === 'found' ? `${words.found}：${glance.entityId}` : ''}
        onError={setFileError}
        onRead={(bytes) => onChange({ xml: new TextDecoder('utf-8', { fatal: true }).decode(bytes) })}
      />
    </>
  )
}

function SingleFields({ config, values, errors, onChange }: FieldsProps) {
  const [fileError, setFileError] = useState<string>()
  const kept = config.idp_certificates.length
  return (
    <>
      <TextField
        label={words.entity}
        spellCheck={false}
        autoCapitalize="off"
        autoComplete="off"
        maxLength={1024}
        value={values.entityId}
        error={errors.entityId}
        onChange={(event) => onChange({ entityId: event.target.value })}
      />
      <UrlField
        label={words.sso}
        value={values.ssoUrl}
        error={errors.ssoUrl}
        onChange={(ssoUrl) => onChange({ ssoUrl })}
      />
      <TextArea
        className={styles.mono}
        label={words.certificates}
        optional={kept > 0}
        hint={kept > 0 ? words.certificatesKept(formatNumber(kept)) : words.certificatesHint}
        placeholder="-----BEGIN CERTIFICATE-----"
        spellCheck={false}
        autoCapitalize="off"
        rows={5}
        value={values.certificates}
        error={errors.certificates ?? fileError}
        onChange={(event) => {
          setFileError(undefined)
          onChange({ certificates: event.target.value })
        }}
      />
      <FileButton
        label={words.certificateFile}
        accept=".pem,.crt,.cer,.der,application/x-x509-ca-cert,application/x-pem-file"
        most={65_536}
        tooBig={words.fileUnreadable}
        onError={setFileError}
        onRead={(bytes) =>
          onChange({
            certificates: [values.certificates.trim(), certificateText(bytes)].filter(Boolean).join('\n'),
          })
        }
      />
    </>
  )
}

interface FileButtonProps {
  label: string
  accept: string
  /** The maximum size of a file, in bytes. */
  most: number
  tooBig: string
  note?: string
  /** Receives the error of a file, or undefined when another one is chosen. */
  onError: (message: string | undefined) => void
  onRead: (bytes: Uint8Array) => void
}

function FileButton({ label, accept, most, tooBig, note, onError, onRead }: FileButtonProps) {
  const input = useRef<HTMLInputElement>(null)
  const read = async (event: ChangeEvent<HTMLInputElement>) => {
    const file = event.target.files?.[0]
    event.target.value = ''
    if (file === undefined) return
    onError(undefined)
    if (file.size > most) return onError(tooBig)
    try {
      onRead(new Uint8Array(await file.arrayBuffer()))
    } catch {
      onError(words.fileUnreadable)
    }
  }
  return (
    <div className={styles.file}>
      <input
        ref={input}
        type="file"
        accept={accept}
        hidden
        aria-label={label}
        onChange={(event) => void read(event)}
      />
      <Button size="sm" onClick={() => input.current?.click()}>
        <FileText size={15} aria-hidden />
        {label}
      </Button>
      <span role="status">{note}</span>
    </div>
  )
}

const emailAttributes = [
  'email',
  'mail',
  'http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress',
]
const nameAttributes = ['displayName', 'name', 'http://schemas.microsoft.com/identity/claims/displayname']

/** The attributes with the address and the name. */
export function AttributeFields({ values, errors, onChange }: FieldsProps) {
  return (
    <fieldset className={styles.group}>
      <legend>{words.attributes}</legend>
      <AttributeField
        label={words.email}
        hint={words.emailHint}
        common={emailAttributes}
        value={values.emailAttribute}
        error={errors.emailAttribute}
        onChange={(emailAttribute) => onChange({ emailAttribute })}
      />
      <AttributeField
        label={words.name}
        hint={words.nameHint}
        common={nameAttributes}
        value={values.nameAttribute}
        error={errors.nameAttribute}
        onChange={(nameAttribute) => onChange({ nameAttribute })}
      />
    </fieldset>
  )
}

interface AttributeFieldProps {
  label: string
  hint: string
  optional?: boolean
  common: readonly string[]
  value: string
  error: string | undefined
  onChange: (value: string) => void
}

/** A field for the name of a value that the identity provider sends, with common names. */
export function AttributeField({
  label,
  hint,
  optional = true,
  common,
  value,
  error,
  onChange,
}: AttributeFieldProps) {
  return (
    <TextField
      label={label}
      optional={optional}
      hint={
        <>
          {hint}
          <span className={styles.suggestions}>
            {words.common}
            {common.map((item) => (
              <button key={item} type="button" className={styles.suggestion} onClick={() => onChange(item)}>
                {item}
              </button>
            ))}
          </span>
        </>
      }
      spellCheck={false}
      autoCapitalize="off"
      autoComplete="off"
      maxLength={256}
      value={value}
      error={error}
      onChange={(event) => onChange(event.target.value)}
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
