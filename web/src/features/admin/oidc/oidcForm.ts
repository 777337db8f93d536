import { errorsByField, type OidcConfig, type OidcConfigPutRequest } from '@/lib/api'
import type { FormErrors } from '@/lib/ui/form'
import { changesOf } from '../changes'
import { oidcEdit as words } from '../texts'

/** The values of the form of OpenID Connect. */
export interface OidcValues {
  readonly issuer: string
  readonly clientId: string
  /** A new secret; empty keeps the current one. */
  readonly secret: string
  readonly removeSecret: boolean
  /** Separated by spaces. */
  readonly scopes: string
  readonly email: string
  readonly name: string
  readonly groups: string
  readonly prompt: string
  /** Separated by spaces. */
  readonly acr: string
  /** In seconds; empty omits it. */
  readonly maxAge: string
  readonly domains: readonly string[]
}

/** OidcErrors are the error messages by field. */
export type OidcErrors = FormErrors<OidcValues>

/** The initial form. */
export function initialValues(config: OidcConfig): OidcValues {
  return {
    issuer: config.issuer,
    clientId: config.client_id,
    secret: '',
    removeSecret: false,
    scopes: config.scopes.join(' '),
    email: config.email_claim,
    name: config.name_claim,
    groups: config.groups_claim,
    prompt: config.prompt,
    acr: config.acr_values.join(' '),
    maxAge: config.max_age === 0 ? '' : String(config.max_age),
    domains: config.allowed_email_domains.filter((domain) => config.email_domains.includes(domain)),
  }
}

const list = (text: string) => text.split(/\s+/).filter(Boolean)

/** The changes of the form: others may have changed the rest since it was opened. */
export function requestOf(config: OidcConfig, values: OidcValues): OidcConfigPutRequest {
  const secret = values.removeSecret ? '' : values.secret.trim()
  const next = {
    issuer: values.issuer.trim(),
    client_id: values.clientId.trim(),
    scopes: list(values.scopes),
    email_claim: values.email.trim(),
    name_claim: values.name.trim(),
    groups_claim: values.groups.trim(),
    prompt: values.prompt,
    acr_values: list(values.acr),
    max_age: Number(values.maxAge),
    email_domains: values.domains,
  }
  return {
    ...(changesOf(config, next) as OidcConfigPutRequest),
    ...((values.removeSecret || secret !== '') && { client_secret: secret }),
  }
}

/** checkValues returns the errors that are found before sending. */
export function checkValues(config: OidcConfig, values: OidcValues): OidcErrors {
  const errors: OidcErrors = {}
  if (!/^https?:\/\/[^\s/]/i.test(values.issuer.trim())) errors.issuer = words.badUrl
  if (values.clientId.trim() === '') errors.clientId = words.required(words.clientId)
  if (values.email.trim() === '') errors.email = words.required(words.email)
  if (!list(values.scopes).includes('openid')) errors.scopes = words.scopesMissing
  if (!/^\d{0,7}$/.test(values.maxAge.trim()) || Number(values.maxAge) > 2_592_000)
    errors.maxAge = words.maxAgeBad
  if (values.domains.length === 0 && config.allowed_email_domains.length > 0)
    errors.domains = words.domainsRequired
  return errors
}

const names: ReadonlyArray<readonly [string, keyof OidcValues]> = [
  ['issuer', 'issuer'],
  ['client_id', 'clientId'],
  ['client_secret', 'secret'],
  ['scopes', 'scopes'],
  ['email_claim', 'email'],
  ['name_claim', 'name'],
  ['groups_claim', 'groups'],
  ['prompt', 'prompt'],
  ['acr_values', 'acr'],
  ['max_age', 'maxAge'],
  ['email_domains', 'domains'],
]

/** serverErrors returns the server's errors by field. `rest` contains the others. */
export function serverErrors(cause: unknown): { errors: OidcErrors; rest: string } {
  return errorsByField(cause, (field) => names.find(([name]) => field.startsWith(name))?.[1])
}
