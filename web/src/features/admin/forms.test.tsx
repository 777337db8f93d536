import { cleanup, fireEvent, screen } from '@testing-library/react'
import type { ComponentType } from 'react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { retentionQuery } from '@/entities/thread/leaving'
import type { SamlConfig } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { renderRoutes } from '@/testRoutes'
import { GroupForm } from './group/GroupForm'
import { InstructionsPage } from './instructions/InstructionsPage'
import { ModelsPage } from './model/ModelsPage'
import { factorPolicyQuery, modelsQuery } from './queries'
import { RetentionPage } from './retention/RetentionPage'
import { AddressRangesSection } from './saml/AddressRanges'
import { FactorPolicySection } from './saml/FactorPolicy'
import { SamlStatus } from './saml/SamlStatus'
import { SessionLimitsSection } from './saml/SessionLimits'
import { ServerForm } from './tool/ServerForm'

const model = {
  id: 'a',
  provider: 'p',
  given_name: 'A',
  available: true,
  sees: false,
  thinking: 'none',
  context_tokens: 8000,
  allowed: true,
  groups: [],
}
const models = (note: string) => ({ default_id: 'a', models: [{ ...model, note }] })
const guidance = (instructions: string) => ({
  instructions,
  about: { name: '', department: '', tone: '', signature: '' },
  dictation: { service: false },
})

/** Ends the pending request that saves a form. */
let saved: (response: Response) => void
let sent: unknown
let responses: Record<string, object>

beforeEach(() => {
  saved = undefined as never
  sent = undefined
  responses = {}
  vi.stubGlobal('fetch', (request: Request) => {
    if (request.method === 'PUT')
      return new Promise((resolve) => {
        void request.json().then((body) => {
          sent = body
          saved = resolve
        })
      })
    const { pathname } = new URL(request.url)
    return Promise.resolve(Response.json(responses[pathname] ?? { items: [], total: 0 }))
  })
})

afterEach(() => {
  cleanup()
  queryClient.clear()
  vi.unstubAllGlobals()
})

function show(Screen: ComponentType) {
  renderRoutes([{ path: '/', Component: Screen }])
}

const type = (element: HTMLElement, value: string) => fireEvent.change(element, { target: { value } })

it.each([
  ['models', ModelsPage, 'Aの説明', models('速い')],
  ['instructions', InstructionsPage, /./, guidance('速い')],
] as const)('keeps what is typed while the %s are saved', async (_, Screen, name, stored) => {
  Object.assign(responses, {
    '/config.json': { brand: 'Tsumugi', model_connected: true },
    '/v1/organization/model': models(''),
    '/v1/guidance': guidance(''),
  })
  show(Screen)
  const field = await screen.findByRole<HTMLInputElement>('textbox', { name })
  type(field, '速い')
  const button = screen.getByRole('button', { name: /^保存/ })
  fireEvent.click(button)
  await vi.waitFor(() => expect(saved).toBeDefined())
  type(field, '速くて安い')
  saved(Response.json(stored))
  await vi.waitFor(() => expect(button.getAttribute('aria-busy')).toBeNull())
  expect(field.value).toBe('速くて安い')
})

it('edits the model of the row after the models of the server have changed', async () => {
  const named = (...ids: string[]) => ids.map((id) => ({ ...model, id, given_name: id.toUpperCase() }))
  Object.assign(responses, {
    '/config.json': { brand: 'Tsumugi', model_connected: true },
    '/v1/organization/model': { default_id: 'a', models: named('a', 'b', 'c') },
    '/v1/guidance': guidance(''),
  })
  show(ModelsPage)
  const note = (name: string) => screen.findByRole<HTMLInputElement>('textbox', { name: `${name}の説明` })
  type(await note('B'), '速い')
  queryClient.setQueryData(modelsQuery.queryKey, { default_id: 'a', models: named('c', 'b') } as never)
  await vi.waitFor(() => expect(screen.queryByRole('textbox', { name: 'Aの説明' })).toBeNull())
  expect((await note('B')).value).toBe('速い')
  type(await note('C'), '安い')
  expect((await note('C')).value).toBe('安い')
  fireEvent.click(screen.getByRole('button', { name: /^保存/ }))
  await vi.waitFor(() => expect(saved).toBeDefined())
  saved(Response.json({ default_id: 'a', models: named('d', 'b') }))
  expect((await note('D')).value).toBe('')
})

const GroupEdit = () => (
  <GroupForm
    group={{
      id: 'g',
      name: '営業部',
      description: '東京',
      source: 'manual',
      token_limit: 700,
      member_count: 0,
    }}
    onClose={() => {}}
  />
)
const ServerEdit = () => (
  <ServerForm
    server={{
      id: 's',
      key: 'crm',
      name: '顧客管理',
      url: 'https://crm.example/mcp',
      auth: 'header',
      header_name: 'Authorization',
      client_id: '',
      redirect_url: 'https://tsumugi.example/v1/tool-connection/s/callback',
      has_secret: true,
      enabled: true,
      everyone: false,
      groups: [{ id: 'g', name: '営業部' }],
      failure: '',
      tools: [],
    }}
    onClose={() => {}}
  />
)
const Limits = () => <SessionLimitsSection mayEdit />
const Ranges = () => <AddressRangesSection mayEdit />

it.each([
  ['of a group', GroupEdit, '説明任意', '大阪', { description: '大阪' }],
  ['of the limit of a group', GroupEdit, '1人あたりの月の上限（トークン）任意', '', { token_limit: null }],
  ['of a tool server', ServerEdit, '名前', '営業支援', { name: '営業支援' }],
  [
    'of the users of a tool server',
    ServerEdit,
    '利用できるメンバー',
    'everyone',
    { everyone: true, group_ids: [] },
  ],
  [
    'of sessions',
    Limits,
    '操作しない時間',
    '15',
    { single_sign_on: { idle_minutes: 15 }, password: {}, connection: {} },
  ],
  ['of networks', Ranges, 'アプリの利用を許可するIPアドレスの範囲', '', { ranges: [] }],
] as const)('sends only the changes %s', async (_, Screen, label, value, body) => {
  Object.assign(responses, {
    '/v1/session-limits': {
      single_sign_on: { idle_minutes: 480, max_minutes: 10080 },
      password: { idle_minutes: 480, max_minutes: 10080 },
      connection: { idle_minutes: 480 },
    },
    '/v1/address-range': {
      ranges: ['203.0.113.7/32'],
      api_ranges: [],
      connection_ranges: null,
      address: '203.0.113.7',
    },
  })
  show(Screen)
  const field = (await screen.findAllByLabelText(label))[0]
  if (!field) throw new Error('no field')
  type(field, value)
  fireEvent.click(screen.getByRole('button', { name: /^(保存|接続元の制限を変更)/ }))
  await vi.waitFor(() => expect(sent).toEqual(body))
})

it('shows the retention that another administrator has set', async () => {
  queryClient.setQueryData(retentionQuery.queryKey, { threads: 0 } as never)
  Object.assign(responses, { '/v1/retention': { days: 90, threads: 0 } })
  show(RetentionPage)
  const days = await screen.findByRole<HTMLInputElement>('textbox')
  expect(days.value).toBe('90')
  expect(screen.getByRole<HTMLButtonElement>('button').disabled).toBe(true)
})

it('shows the policy for second factors that another administrator has set', async () => {
  responses['/v1/factor-policy'] = { policy: 'optional', enforced: true }
  show(() => <FactorPolicySection mayEdit />)
  const policy = await screen.findByRole<HTMLSelectElement>('combobox')
  queryClient.setQueryData(factorPolicyQuery.queryKey, { policy: 'everybody', enforced: true } as never)
  await vi.waitFor(() => expect(policy.value).toBe('everybody'))
  expect(screen.getByRole<HTMLButtonElement>('button').disabled).toBe(true)
  type(policy, 'administrators')
  fireEvent.click(screen.getByRole('button'))
  await vi.waitFor(() => expect(sent).toEqual({ policy: 'administrators' }))
})

it('offers the test of SAML again after the browser has gone back to the page', async () => {
  const leave = vi.spyOn(window.location, 'assign').mockImplementation(() => {})
  responses['/v1/saml-config/test'] = { url: 'https://idp.example/' }
  const config = { enabled: false, idp_entity_id: 'e', idp_certificates: [{}] } as SamlConfig
  show(() => <SamlStatus config={config} mayEdit />)
  const button = screen.getByRole('button', { name: 'テストログイン' })
  fireEvent.click(button)
  await vi.waitFor(() => expect(leave).toHaveBeenCalledWith('https://idp.example/'))
  expect(button.getAttribute('aria-busy')).toBe('true')
  window.dispatchEvent(new Event('pageshow'))
  await vi.waitFor(() => expect(button.getAttribute('aria-busy')).toBeNull())
})

it('adds a group after the result of the first attempt was lost, also with another name', async () => {
  const ids: unknown[] = []
  vi.stubGlobal('fetch', async (request: Request) => {
    ids.push(((await request.json()) as { request_id: string }).request_id)
    if (ids.length < 3) throw new TypeError('connection lost')
    return Response.json({ id: 'g', name: '営業部' }, { status: 201 })
  })
  show(() => <GroupForm onClose={() => {}} />)
  const name = screen.getAllByRole<HTMLInputElement>('textbox', { hidden: true })[0]
  const button = screen.getByRole('button', { name: /^作成/, hidden: true })
  for (const [at, text] of ['営業', '営業', '営業部'].entries()) {
    if (name) type(name, text)
    fireEvent.click(button)
    await vi.waitFor(() => expect(ids).toHaveLength(at + 1))
    if (at < 2) await vi.waitFor(() => expect(button.getAttribute('aria-busy')).toBeNull())
  }
  expect(ids[1]).toBe(ids[0])
  expect(ids[2]).not.toBe(ids[0])
})
