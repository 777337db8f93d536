import { cleanup, fireEvent, screen } from '@testing-library/react'
import type { ComponentType } from 'react'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { retentionQuery } from '@/entities/thread/leaving'
import { queryClient } from '@/lib/api/queries'
import { renderRoutes } from '@/testRoutes'
import { InstructionsPage } from './instructions/InstructionsPage'
import { ModelsPage } from './model/ModelsPage'
import { modelsQuery } from './queries'
import { RetentionPage } from './retention/RetentionPage'

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
let responses: Record<string, object>

beforeEach(() => {
  saved = undefined as never
  responses = {}
  vi.stubGlobal('fetch', (request: Request) => {
    if (request.method === 'PUT') return new Promise((resolve) => (saved = resolve))
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

it('shows the retention that another administrator has set', async () => {
  queryClient.setQueryData(retentionQuery.queryKey, { threads: 0 } as never)
  Object.assign(responses, { '/v1/retention': { days: 90, threads: 0 } })
  show(RetentionPage)
  const days = await screen.findByRole<HTMLInputElement>('textbox')
  expect(days.value).toBe('90')
  expect(screen.getByRole<HTMLButtonElement>('button').disabled).toBe(true)
})
