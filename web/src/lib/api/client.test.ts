import { beforeEach, describe, expect, it, vi } from 'vitest'
import { refreshToken } from '@/entities/identity/identity'
import { ApiError, call, listAll } from '.'
import { uploadDataSource } from './dataSources'
import { oauth2Authorize } from './signIn'

const answer = (status: number, body: string, headers: HeadersInit = {}) =>
  new Response(body, { status, headers })

describe('API calls', () => {
  const server = vi.fn<typeof fetch>()

  beforeEach(() => {
    localStorage.clear()
    server.mockReset()
    vi.stubGlobal('fetch', server)
  })

  // An untyped caller, such as a URL with a missing part.
  const missing = undefined as never

  const page = { offset: 0, limit: 20 }

  // The specification's list: ids in paths, bodies, the thread of messages, the organization, the file.
  it.each([
    ['authTypeRequest', 'authType', () => call('authType', { body: { email: missing } })],
    ['refreshTokenRequest', 'refreshToken', () => refreshToken(missing)],
    [
      'organizationId',
      'oauth2Callback',
      () => call('oauth2Callback', { organization_id: missing, code: 'c' }),
    ],
    ['organizationId', 'oauth2Authorize', async () => oauth2Authorize(missing, '/home')],
    ['skillId', 'getSkill', () => call('getSkill', { skill_id: missing })],
    ['favoriteSkillPostRequest', 'addFavoriteSkill', () => call('addFavoriteSkill', { body: missing })],
    [
      'favoriteSkillDeleteRequest',
      'removeFavoriteSkill',
      () => call('removeFavoriteSkill', { body: { skill_id: missing } }),
    ],
    ['threadCreateRequest', 'createThread', () => call('createThread', { body: missing })],
    ['threadId', 'getThread', () => call('getThread', { thread_id: missing })],
    ['threadId', 'editThread', () => call('editThread', { thread_id: missing, body: { title: '題' } })],
    ['threadEditRequest', 'editThread', () => call('editThread', { thread_id: 't', body: missing })],
    ['threadId', 'touchThread', () => call('touchThread', { thread_id: missing })],
    ['threadId', 'deleteThread', () => call('deleteThread', { thread_id: null as never })],
    ['threadId', 'listMessages', () => call('listMessages', { thread_id: missing, ...page })],
    ['messageRequest', 'askMessage', () => call('askMessage', { body: missing })],
    ['feedbackRequest', 'giveFeedback', () => call('giveFeedback', { body: missing })],
    ['userInviteRequest', 'inviteUsers', () => call('inviteUsers', { body: missing })],
    [
      'userInviteResendRequest',
      'resendInvitation',
      () => call('resendInvitation', { body: { user_id: missing } }),
    ],
    ['userId', 'editUser', () => call('editUser', { user_id: missing, body: {} })],
    ['userEditRequest', 'editUser', () => call('editUser', { user_id: 'u', body: missing })],
    ['userId', 'removeUser', () => call('removeUser', { user_id: missing })],
    ['sAMLConfigPutRequest', 'putSAMLConfig', () => call('putSAMLConfig', { body: missing })],
    ['file', 'uploadDataSource', () => uploadDataSource(missing, missing)],
    ['dataSourceId', 'downloadDataSource', () => call('downloadDataSource', { data_source_id: missing })],
    ['dataSourceId', 'deleteDataSource', () => call('deleteDataSource', { data_source_id: missing })],
  ])('reject a missing %s of %s', async (field, operation, make) => {
    await expect(make()).rejects.toThrow(
      `Required parameter ${field} was null or undefined when calling ${operation}`,
    )
    expect(server).not.toHaveBeenCalled()
  })

  it('reject a missing organization in the query and in the body', async () => {
    const message = (operation: string) =>
      `Required parameter organizationId was null or undefined when calling ${operation}`
    await expect(call('getSSOLink', { organization_id: missing, link: 'l' })).rejects.toThrow(
      message('getSSOLink'),
    )
    const body = { organization_id: missing, link: 'l' }
    await expect(call('confirmSSOLink', { body, token: 't' })).rejects.toThrow(message('confirmSSOLink'))
    expect(server).not.toHaveBeenCalled()
  })

  it('send a body without fields', async () => {
    server.mockResolvedValue(answer(200, '{}'))
    await call('editThread', { thread_id: 't', body: {} })
    const request = server.mock.calls[0]?.[0] as Request
    expect(await request.text()).toBe('{}')
  })

  it('send offset and limit', async () => {
    server.mockResolvedValue(answer(200, '{"items":[]}'))
    expect(await call('listThreads', { offset: 20, limit: 20 })).toEqual({ items: [] })
    const [request] = server.mock.calls[0] ?? []
    const url = new URL(new Request(request ?? '').url)
    expect(url.pathname + url.search).toBe('/v1/thread?offset=20&limit=20')
  })

  it('send a JSON body with DELETE', async () => {
    server.mockResolvedValue(new Response(null, { status: 204 }))
    await call('removeFavoriteSkill', { body: { skill_id: 's1' } })
    const request = server.mock.calls[0]?.[0] as Request
    expect(request.method).toBe('DELETE')
    expect(await request.json()).toEqual({ skill_id: 's1' })
  })

  it('convert a problem into an ApiError', async () => {
    const problem = {
      type: 'about:blank',
      title: 'Bad Request',
      status: 400,
      detail: 'title is too long',
      code: 'invalid',
      request_id: 'r1',
      errors: [{ field: 'title', message: 'too long' }],
    }
    server.mockResolvedValue(answer(400, JSON.stringify(problem)))
    const error = await call('editThread', { thread_id: 't', body: { title: 'x' } }).catch(
      (cause: unknown) => cause,
    )
    expect(error).toBeInstanceOf(ApiError)
    expect(error).toMatchObject({
      status: 400,
      code: 'invalid',
      detail: 'title is too long',
      requestId: 'r1',
    })
    expect((error as ApiError).field('title')).toBe('too long')
    expect((error as ApiError).field('other')).toBeUndefined()
  })

  it('use the request id in the header if a proxy responded', async () => {
    server.mockResolvedValue(answer(502, '<html>', { 'X-Request-Id': 'r2' }))
    await expect(call('getThread', { thread_id: 't' })).rejects.toMatchObject({
      status: 502,
      code: 'unknown',
      requestId: 'r2',
    })
  })

  it('report that the server is unreachable', async () => {
    server.mockRejectedValue(new TypeError('Failed to fetch'))
    await expect(call('getThread', { thread_id: 't' })).rejects.toMatchObject({
      status: 0,
      code: 'network',
      offline: true,
    })
  })

  it('do not convert an abort', async () => {
    server.mockRejectedValue(new DOMException('aborted', 'AbortError'))
    await expect(call('getThread', { thread_id: 't' })).rejects.toMatchObject({ name: 'AbortError' })
  })

  it('load a complete list a hundred items at a time', async () => {
    const pages = [100, 100, 3]
    const list = vi.fn(async () => ({ items: Array<number>(pages.shift() ?? 0).fill(1) }))
    expect(await listAll(list)).toHaveLength(203)
    expect(list.mock.calls).toEqual([
      [{ offset: 0, limit: 100 }],
      [{ offset: 100, limit: 100 }],
      [{ offset: 200, limit: 100 }],
    ])
  })
})
