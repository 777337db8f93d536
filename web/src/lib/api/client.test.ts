import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { refreshToken } from '@/entities/identity/identity'
import { ApiError, api } from '.'
import * as admin from './admin'
import * as dataSources from './dataSources'
import * as shares from './shares'
import * as signIn from './signIn'

const answer = (status: number, body: string, headers: HeadersInit = {}) =>
  new Response(body, { status, headers })

describe('API calls', () => {
  const server = vi.fn<typeof fetch>()

  beforeEach(() => {
    localStorage.clear()
    server.mockReset()
    vi.stubGlobal('fetch', server)
  })

  afterEach(() => vi.unstubAllGlobals())

  // An untyped caller, such as a URL with a missing part.
  const missing = undefined as unknown as string

  const page = { offset: 0, limit: 20 }
  const callback = { organizationId: null, code: 'c', error: null, errorDescription: null }

  // The specification's list: ids in paths, bodies, the thread of messages, the organization, the file.
  it.each([
    ['authTypeRequest', 'authType', () => api.authType(missing)],
    ['refreshTokenRequest', 'refreshToken', () => refreshToken(missing as never)],
    ['organizationId', 'oauth2Callback', () => signIn.oauth2Callback(callback)],
    ['organizationId', 'oauth2Authorize', async () => signIn.oauth2Authorize(missing, '/home')],
    ['skillId', 'getSkill', () => api.getSkill(missing)],
    ['favoriteSkillPostRequest', 'addFavoriteSkill', () => api.addFavoriteSkill(missing)],
    ['favoriteSkillDeleteRequest', 'removeFavoriteSkill', () => api.removeFavoriteSkill(missing)],
    ['threadCreateRequest', 'createThread', () => api.createThread(missing as never)],
    ['threadId', 'getThread', () => api.getThread(missing)],
    ['threadId', 'editThread', () => api.editThread(missing, { title: '題' })],
    ['threadEditRequest', 'editThread', () => api.editThread('t', missing as never)],
    ['threadId', 'touchThread', () => api.touchThread(missing)],
    ['threadId', 'deleteThread', () => api.deleteThread(null as unknown as string)],
    ['threadId', 'listMessages', () => api.listMessages(missing, page)],
    ['messageAsyncRequest', 'askMessage', () => api.askMessage(missing as never)],
    ['feedbackRequest', 'giveFeedback', () => api.giveFeedback(missing as never)],
    ['userInviteRequest', 'inviteMembers', () => admin.inviteMembers(missing as never, 'key')],
    ['userInviteResendRequest', 'resendInvitation', () => admin.resendInvitation(missing)],
    ['userId', 'editMember', () => admin.editMember(missing, {})],
    ['userEditRequest', 'editMember', () => admin.editMember('u', missing as never)],
    ['userId', 'removeMember', () => admin.removeMember(missing)],
    ['sAMLConfigPutRequest', 'putSamlConfig', () => admin.putSamlConfig(missing as never)],
    ['file', 'uploadDataSource', () => dataSources.uploadDataSource(missing as never, missing as never)],
    ['dataSourceId', 'downloadDataSource', () => dataSources.downloadDataSource(missing)],
    ['dataSourceId', 'deleteDataSource', () => dataSources.deleteDataSource(missing)],
  ])('reject a missing %s of %s', async (field, operation, call) => {
    await expect(call()).rejects.toThrow(
      `Required parameter ${field} was null or undefined when calling ${operation}`,
    )
    expect(server).not.toHaveBeenCalled()
  })

  it('name an operation by its method and path if it has no other name', async () => {
    await expect(shares.endShare(missing)).rejects.toThrow(
      'Required parameter shareId was null or undefined when calling DELETE /v1/share/{share_id}',
    )
    expect(server).not.toHaveBeenCalled()
  })

  it('reject a missing organization in the query and in the body', async () => {
    const message = (operation: string) =>
      `Required parameter organizationId was null or undefined when calling ${operation}`
    await expect(signIn.getSsoLink(missing, 'l')).rejects.toThrow(message('getSsoLink'))
    await expect(signIn.confirmSsoLink(missing, 'l', 't')).rejects.toThrow(message('confirmSsoLink'))
    expect(server).not.toHaveBeenCalled()
  })

  it('send a body without fields', async () => {
    server.mockResolvedValue(answer(200, '{}'))
    await api.editThread('t', {})
    const request = server.mock.calls[0]?.[0] as Request
    expect(await request.text()).toBe('{}')
  })

  it('send offset and limit', async () => {
    server.mockResolvedValue(answer(200, '{"items":[]}'))
    expect(await api.listThreads({ offset: 20, limit: 20 })).toEqual([])
    const [request] = server.mock.calls[0] ?? []
    const url = new URL(new Request(request ?? '').url)
    expect(url.pathname + url.search).toBe('/v1/thread?offset=20&limit=20')
  })

  it('send a JSON body with DELETE', async () => {
    server.mockResolvedValue(new Response(null, { status: 204 }))
    await api.removeFavoriteSkill('s1')
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
    const error = await api.editThread('t', { title: 'x' }).catch((cause: unknown) => cause)
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
    await expect(api.getThread('t')).rejects.toMatchObject({ status: 502, code: 'unknown', requestId: 'r2' })
  })

  it('report that the server is unreachable', async () => {
    server.mockRejectedValue(new TypeError('Failed to fetch'))
    await expect(api.getThread('t')).rejects.toMatchObject({ status: 0, code: 'network', offline: true })
  })

  it('do not convert an abort', async () => {
    server.mockRejectedValue(new DOMException('aborted', 'AbortError'))
    await expect(api.getThread('t')).rejects.toMatchObject({ name: 'AbortError' })
  })

  it('load a complete list a hundred items at a time', async () => {
    const pages = [100, 100, 3]
    const list = vi.fn(async () => Array<number>(pages.shift() ?? 0).fill(1))
    expect(await api.listAll(list)).toHaveLength(203)
    expect(list.mock.calls).toEqual([
      [{ offset: 0, limit: 100 }],
      [{ offset: 100, limit: 100 }],
      [{ offset: 200, limit: 100 }],
    ])
  })
})
