import { describe, expect, it } from 'vitest'
import { ApiError, type SamlConfig } from '@/lib/api'
import { certificateText, splitCertificates, validityOf } from './certificates'
import { summarizeMetadata } from './metadata'
import { checkValues, initialValues, isDirty, requestOf, serverErrors } from './samlForm'

const config: SamlConfig = {
  enabled: false,
  sp_entity_id: 'https://app.example/v1/saml/o/metadata',
  sp_acs_url: 'https://app.example/v1/saml/o/acs',
  sp_metadata_url: 'https://app.example/v1/saml/o/metadata',
  idp_metadata_url: '',
  idp_metadata_error: '',
  idp_entity_id: 'https://idp.example',
  idp_sso_url: 'https://idp.example/sso',
  idp_certificates: [{ subject: 'CN=idp', fingerprint_sha256: 'AB', not_after: '2030-01-01T00:00:00Z' }],
  email_attribute: '',
  name_attribute: 'displayName',
  email_domains: ['example.co.jp'],
  allowed_email_domains: ['example.co.jp', 'example.jp'],
  updated_at: '2026-11-01T00:00:00Z',
}
const { updated_at: _, ...untouched } = config
const fresh: SamlConfig = {
  ...untouched,
  idp_entity_id: '',
  idp_sso_url: '',
  idp_certificates: [],
  email_domains: [],
}

const metadata = `<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata" entityID="https://idp.example">
  <md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol"/>
</md:EntityDescriptor>`

describe('the form of the single sign-on', () => {
  it('sends the address of metadata, and ends its readings', () => {
    const values = { ...initialValues(config), way: 'url' as const }
    expect(requestOf(config, values)).toBeNull()
    expect(checkValues(fresh, { ...values, url: '' }).url).toBe('メタデータのURLを入力してください。')
    expect(checkValues(config, { ...values, url: 'idp.example' }).url).toBe(
      'https:// で始まるURLを入力してください。',
    )
    const url = 'https://idp.example/metadata'
    expect(requestOf(config, { ...values, url: ` ${url} ` })).toEqual({ idp_metadata_url: url })
    const read = { ...config, idp_metadata_url: url }
    expect(initialValues(read)).toMatchObject({ way: 'url', url })
    expect(requestOf(read, initialValues(read))).toBeNull()
    expect(requestOf(read, { ...initialValues(read), url: '' })).toEqual({ idp_metadata_url: '' })
  })

  it('has no changes initially', () => {
    expect(requestOf(config, initialValues(config))).toBeNull()
    expect(isDirty(config, { ...initialValues(config), way: 'fields' })).toBe(false)
    expect(isDirty(config, { ...initialValues(config), ssoUrl: 'x' })).toBe(true)
  })

  it('begins with all of the organization’s domains', () => {
    expect(initialValues(fresh).domains).toEqual(['example.co.jp', 'example.jp'])
    expect(isDirty(fresh, initialValues(fresh))).toBe(false)
    expect(requestOf(fresh, initialValues(fresh))).toEqual({ email_domains: ['example.co.jp', 'example.jp'] })
  })

  it('sends only changes, and only of the visible way of entry', () => {
    const values = { ...initialValues(config), xml: metadata, entityId: 'other', emailAttribute: ' mail ' }
    expect(requestOf(config, values)).toEqual({ idp_metadata_xml: metadata, email_attribute: 'mail' })
    expect(requestOf(config, { ...values, way: 'fields' })).toEqual({
      idp_entity_id: 'other',
      email_attribute: 'mail',
    })
    expect(requestOf(config, { ...initialValues(config), domains: ['example.jp'] })).toEqual({
      email_domains: ['example.jp'],
    })
  })

  it('requires missing values', () => {
    const nothing = { ...initialValues(fresh), domains: [] }
    expect(checkValues(fresh, nothing)).toEqual({
      xml: 'IDプロバイダーのメタデータ（XML）を入力してください。',
      domains: 'メールドメインを一つ以上選択してください。',
    })
    expect(Object.keys(checkValues(fresh, { ...nothing, way: 'fields' }))).toEqual([
      'entityId',
      'ssoUrl',
      'certificates',
      'domains',
    ])
    expect(checkValues(config, initialValues(config))).toEqual({})
  })

  it('shows the server’s errors at their fields', () => {
    const cause = new ApiError(400, {
      errors: [
        { field: 'idp_certificates[0]', message: '証明書を読み取れません。' },
        { field: 'email_domains[1]', message: '登録されていないドメインです。' },
        { field: 'unknown', message: 'その他。' },
      ],
    })
    expect(serverErrors(cause, 'fields')).toEqual({
      errors: { certificates: '証明書を読み取れません。', domains: '登録されていないドメインです。' },
      rest: 'その他。',
    })
    expect(serverErrors(cause, 'metadata').errors.xml).toBe('証明書を読み取れません。')
    expect(serverErrors(new ApiError(409, { detail: '不完全です。' }), 'fields').rest).toBe('不完全です。')
  })
})

describe('pasted metadata', () => {
  it('shows its identity provider', () => {
    expect(summarizeMetadata(metadata)).toEqual({ kind: 'found', entityId: 'https://idp.example' })
    const service = metadata.replaceAll('IDPSSO', 'SPSSO')
    expect(summarizeMetadata(service)).toEqual({ kind: 'not-metadata' })
    expect(summarizeMetadata('  ')).toEqual({ kind: 'empty' })
    expect(summarizeMetadata('https://idp.example/metadata')).toEqual({ kind: 'not-xml' })
    expect(summarizeMetadata('<html></html>')).toEqual({ kind: 'not-metadata' })
    expect(
      summarizeMetadata(`\ufeff<EntityDescriptor entityID='a&amp;b'><IDPSSODescriptor/></EntityDescriptor>`),
    ).toEqual({
      kind: 'found',
      entityId: 'a&b',
    })
  })
})

describe('certificates', () => {
  const block = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----'

  it('are split from pasted text', () => {
    expect(splitCertificates(`${block}\n${block}\n`)).toEqual([block, block])
    expect(splitCertificates(' MIIC ')).toEqual(['MIIC'])
    expect(splitCertificates('\n')).toEqual([])
  })

  it('are read from text and from DER', () => {
    expect(certificateText(new TextEncoder().encode(`${block}\n`))).toBe(block)
    expect(certificateText(Uint8Array.of(0x30, 0x82, 1, 2))).toContain('MIIBAg==')
  })

  it('show a warning 30 days before they expire', () => {
    const now = Date.parse('2026-11-21T00:00:00Z')
    expect(validityOf('2026-12-22T00:00:00Z', now)).toEqual({ kind: 'fine' })
    expect(validityOf('2026-12-20T00:00:00Z', now)).toEqual({ kind: 'expiring', days: 29 })
    expect(validityOf('2026-11-20T00:00:00Z', now).kind).toBe('expired')
  })
})
