import { expect, it } from 'vitest'
import type { OidcConfig } from '@/lib/api'
import { initialValues, requestOf } from './oidcForm'

const config: OidcConfig = {
  enabled: true,
  redirect_url: 'https://app.example/v1/oidc/0199/callback',
  logout_url: 'https://app.example/v1/oidc/o/logout',
  issuer: 'https://idp.example',
  client_id: 'tsumugi',
  has_client_secret: true,
  scopes: ['openid', 'email', 'profile'],
  email_claim: 'email',
  name_claim: 'name',
  groups_claim: '',
  prompt: '',
  acr_values: [],
  max_age: 0,
  email_domains: ['example.co.jp'],
  allowed_email_domains: ['example.co.jp', 'example.jp'],
  updated_at: '2026-11-01T00:00:00Z',
}

it('sends only the changes of the form', () => {
  const values = initialValues(config)
  expect(requestOf(config, values)).toEqual({})
  expect(requestOf(config, { ...values, prompt: 'login', maxAge: ' 300 ', clientId: ' tsumugi ' })).toEqual({
    prompt: 'login',
    max_age: 300,
  })
  expect(
    requestOf(config, { ...values, scopes: 'openid  email', domains: ['example.jp'], secret: 's' }),
  ).toEqual({ scopes: ['openid', 'email'], email_domains: ['example.jp'], client_secret: 's' })
  expect(requestOf(config, { ...values, removeSecret: true })).toEqual({ client_secret: '' })
})
