import { errorsByField, type SamlConfig, type SamlConfigPutRequest } from '@/lib/api'
import type { FormErrors } from '@/lib/ui/form'
import { samlEdit as words } from '../texts'
import { splitCertificates } from './certificates'
import { MAX_METADATA, summarizeMetadata } from './metadata'

/** The ways of entering the identity provider's settings. */
export const ways = ['url', 'metadata', 'fields'] as const
type Way = (typeof ways)[number]

/** The values of the single sign-on form. */
export interface SamlValues {
  /** The way of entry: by the address of metadata, by metadata, or field by field. */
  readonly way: Way
  readonly url: string
  readonly xml: string
  readonly entityId: string
  readonly ssoUrl: string
  /** New certificates; empty keeps the current ones. */
  readonly certificates: string
  readonly emailAttribute: string
  readonly nameAttribute: string
  readonly domains: readonly string[]
}

/** SamlErrors are the error messages by field. */
export type SamlErrors = FormErrors<SamlValues>

/** The initial form. */
export function initialValues(config: SamlConfig): SamlValues {
  return {
    way: config.idp_metadata_url === '' ? 'metadata' : 'url',
    url: config.idp_metadata_url,
    xml: '',
    entityId: config.idp_entity_id,
    ssoUrl: config.idp_sso_url,
    certificates: '',
    emailAttribute: config.email_attribute,
    nameAttribute: config.name_attribute,
    // Initially all of the organization's domains, like the server's default.
    domains:
      config.updated_at === undefined
        ? config.allowed_email_domains
        : config.allowed_email_domains.filter((domain) => config.email_domains.includes(domain)),
  }
}

/** Whether there is unsaved input. The chosen way of entry does not count. */
export function isDirty(config: SamlConfig, values: SamlValues): boolean {
  const initial = initialValues(config)
  return JSON.stringify({ ...values, way: initial.way }) !== JSON.stringify(initial)
}

/** The changes of the form; null if nothing changed. Only the visible way of entry counts. */
export function requestOf(config: SamlConfig, values: SamlValues): SamlConfigPutRequest | null {
  const certificates = splitCertificates(values.certificates)
  const email = values.emailAttribute.trim()
  const name = values.nameAttribute.trim()
  const url = values.url.trim()
  const request: SamlConfigPutRequest = {
    ...(values.way === 'url' && url !== config.idp_metadata_url && { idp_metadata_url: url }),
    ...(values.way === 'metadata' && values.xml.trim() !== '' && { idp_metadata_xml: values.xml }),
    ...(values.way === 'fields' && {
      ...(values.entityId.trim() !== config.idp_entity_id && { idp_entity_id: values.entityId.trim() }),
      ...(values.ssoUrl.trim() !== config.idp_sso_url && { idp_sso_url: values.ssoUrl.trim() }),
      ...(certificates.length > 0 && { idp_certificates: certificates }),
    }),
    ...(email !== config.email_attribute && { email_attribute: email }),
    ...(name !== config.name_attribute && { name_attribute: name }),
    ...(!sameSet(values.domains, config.email_domains) && { email_domains: [...values.domains] }),
  }
  return Object.keys(request).length > 0 ? request : null
}

/** checkValues returns the errors that are found before sending. */
export function checkValues(config: SamlConfig, values: SamlValues): SamlErrors {
  const errors: SamlErrors = {}
  if (values.way === 'url') {
    if (values.url.trim() === '') {
      if (config.idp_entity_id === '') errors.url = words.required(words.url)
    } else if (!isUrl(values.url)) errors.url = words.badUrl
  } else if (values.way === 'metadata') {
    const { kind } = summarizeMetadata(values.xml)
    if (kind === 'empty' && config.idp_entity_id === '') errors.xml = words.required(words.xml)
    if (kind === 'not-xml') errors.xml = words.notXml
    if (kind === 'not-metadata') errors.xml = words.notMetadata
    if (values.xml.length > MAX_METADATA) errors.xml = words.fileTooBig
  } else {
    if (values.entityId.trim() === '') errors.entityId = words.required(words.entity)
    if (values.ssoUrl.trim() === '') errors.ssoUrl = words.required(words.sso)
    else if (!isUrl(values.ssoUrl)) errors.ssoUrl = words.badUrl
    if (values.certificates.trim() === '' && config.idp_certificates.length === 0)
      errors.certificates = words.required(words.certificates)
  }
  if (values.domains.length === 0 && config.allowed_email_domains.length > 0)
    errors.domains = words.domainsRequired
  return errors
}

function isUrl(text: string): boolean {
  return /^https?:\/\/[^\s/]/i.test(text.trim())
}

const names: ReadonlyArray<readonly [RegExp, keyof SamlValues]> = [
  [/^idp_metadata_url/, 'url'],
  [/^idp_metadata_xml/, 'xml'],
  [/^idp_entity_id/, 'entityId'],
  [/^idp_sso_url/, 'ssoUrl'],
  [/^idp_certificates/, 'certificates'],
  [/^email_attribute/, 'emailAttribute'],
  [/^name_attribute/, 'nameAttribute'],
  [/^email_domains/, 'domains'],
]

/** serverErrors returns the server's errors by visible field. `rest` contains the others. */
export function serverErrors(cause: unknown, way: SamlValues['way']): { errors: SamlErrors; rest: string } {
  return errorsByField(cause, (field) => {
    const known = names.find(([pattern]) => pattern.test(field))?.[1]
    const shown = way === 'metadata' && isOfFields(known) ? 'xml' : known
    return way === 'fields' && shown === 'xml' ? undefined : shown
  })
}

// Errors in fields of pasted metadata are errors of the metadata.
function isOfFields(name: keyof SamlValues | undefined): boolean {
  return name === 'entityId' || name === 'ssoUrl' || name === 'certificates'
}

function sameSet(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((item) => b.includes(item))
}
