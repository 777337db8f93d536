import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { saveToken } from '@/entities/identity/token'
import { session } from '@/entities/session/session'
import { callAs } from './caller'
import { uploadDataSource } from './dataSources'
import { call } from './http'

const jwt = (exp: number) => `h.${btoa(JSON.stringify({ sub: 'u', email: 'a@demo.example', exp }))}.s`
const soon = () => Math.floor(Date.now() / 1000) + 3600

const record = (idToken: string) => ({
  authType: 'federated_idp' as const,
  clientId: 'client',
  refreshToken: 'refresh',
  idToken,
  accessToken: 'access',
  expiresIn: 3600,
  tokenType: 'Bearer',
})

/** FakeRequest is a request whose server the test controls. */
class FakeRequest {
  static all: FakeRequest[] = []
  readonly headers: Record<string, string> = {}
  readonly upload: { onprogress: ((event: { loaded: number; total: number }) => void) | null } = {
    onprogress: null,
  }
  onload: (() => void) | null = null
  onerror: (() => void) | null = null
  onabort: (() => void) | null = null
  onloadend: (() => void) | null = null
  status = 0
  responseText = ''
  address = ''
  body: FormData | null = null

  open(method: string, path: string): void {
    this.address = `${method} ${path}`
  }

  setRequestHeader(name: string, value: string): void {
    this.headers[name] = value
  }

  getResponseHeader(name: string): string | null {
    return name === 'X-Request-Id' ? 'r1' : null
  }

  send(body: FormData): void {
    this.body = body
    FakeRequest.all.push(this)
  }

  abort(): void {
    this.onabort?.()
    this.onloadend?.()
  }

  answers(status: number, body: unknown): void {
    this.status = status
    this.responseText = JSON.stringify(body)
    this.onload?.()
    this.onloadend?.()
  }

  breaks(): void {
    this.onerror?.()
    this.onloadend?.()
  }
}

const request = async (at: number): Promise<FakeRequest> =>
  vi.waitFor(() => {
    const found = FakeRequest.all[at]
    if (found === undefined) throw new Error('nothing is sent')
    return found
  })

callAs(session)

describe('an upload', () => {
  const server = vi.fn<typeof fetch>()
  const file = new File(['# 議事録'], '議事録.md')
  const problem = (status: number, detail: string) => ({ status, code: 'c', detail })
  const expired = problem(401, 'jwt expired')
  const paths = () =>
    server.mock.calls.map(([call]) => new URL((call as Request).url ?? call, location.href).pathname)

  const upload = (signal = new AbortController().signal, onProgress = vi.fn()) =>
    uploadDataSource(file, { signal, onProgress })

  beforeEach(() => {
    FakeRequest.all = []
    vi.stubGlobal('XMLHttpRequest', FakeRequest)
    server.mockReset()
    vi.stubGlobal('fetch', server)
    saveToken(record(jwt(soon())))
  })

  afterEach(() => localStorage.clear())

  it('sends the file with the token, and reports the progress and whether the file is new', async () => {
    const token = jwt(soon())
    saveToken(record(token))
    const onProgress = vi.fn()
    const sent = upload(new AbortController().signal, onProgress)
    const first = await request(0)
    expect(first.address).toBe('POST /v1/data-source/file')
    expect(first.headers.Authorization).toBe(`Bearer ${token}`)
    expect(first.body?.get('file')).toMatchObject({ name: '議事録.md', size: file.size })
    first.upload.onprogress?.({ loaded: 3, total: 4 })
    expect(onProgress).toHaveBeenCalledExactlyOnceWith(0.75)
    first.answers(201, { id: 'd' })
    expect(await sent).toEqual({ source: { id: 'd' }, isNew: true })

    const again = upload()
    ;(await request(1)).answers(200, { id: 'd' })
    expect((await again).isNew).toBe(false)
    expect(server).not.toHaveBeenCalled()
  })

  it('refused for an expired token is retried once with a renewed one', async () => {
    const next = jwt(soon() + 1)
    server.mockImplementation(async (input) => {
      const call = input instanceof Request ? input : new Request(new URL(String(input), location.href))
      if (call.url.endsWith('/v1/refresh_token'))
        return Response.json({ id_token: next, access_token: 'a', expires_in: 60, token_type: 'Bearer' })
      const fresh = call.headers.get('Authorization') === `Bearer ${next}`
      return fresh ? Response.json({}) : Response.json(expired, { status: 401 })
    })
    const sent = upload()
    const first = await request(0)
    expect(first.headers['x-no-retry']).toBeUndefined()
    first.answers(401, expired)
    const second = await request(1)
    expect(second.headers).toMatchObject({ Authorization: `Bearer ${next}`, 'x-no-retry': '1' })
    second.answers(401, expired)
    await expect(sent).rejects.toMatchObject({ status: 401 })
    expect(FakeRequest.all).toHaveLength(2)
    expect(paths().filter((path) => path === '/v1/refresh_token')).toHaveLength(1)
  })

  it('renews a token that is known to have expired before sending the file', async () => {
    saveToken(record(jwt(1)))
    const next = jwt(soon())
    server.mockResolvedValue(
      Response.json({ id_token: next, access_token: 'a', expires_in: 60, token_type: 'Bearer' }),
    )
    const sent = upload()
    const first = await request(0)
    expect(first.headers.Authorization).toBe(`Bearer ${next}`)
    first.answers(201, { id: 'd' })
    await sent
  })

  it('reports the server’s refusal, and an unreachable server', async () => {
    const refused = upload()
    ;(await request(0)).answers(415, problem(415, 'この種類は読み取れません。'))
    await expect(refused).rejects.toMatchObject({
      status: 415,
      detail: 'この種類は読み取れません。',
      requestId: 'r1',
    })
    const unreached = upload()
    ;(await request(1)).breaks()
    await expect(unreached).rejects.toMatchObject({ offline: true })
  })

  it('stops when aborted', async () => {
    const controller = new AbortController()
    const sent = upload(controller.signal)
    await request(0)
    controller.abort()
    await expect(sent).rejects.toMatchObject({ name: 'AbortError' })
    await expect(upload(controller.signal)).rejects.toMatchObject({ name: 'AbortError' })
    expect(FakeRequest.all).toHaveLength(1)
  })

  it('and the other calls use the documented URLs', async () => {
    server.mockImplementation(async (call) => {
      const { method, url } = call as Request
      if (method === 'DELETE') return new Response(null, { status: 204 })
      return url.includes('/file/') ? new Response('中身') : Response.json({ items: [] })
    })
    expect(await call('listDataSources', { offset: 20, limit: 20 })).toEqual({ items: [] })
    expect(await (await call('downloadDataSource', { data_source_id: 'd' })).text()).toBe('中身')
    await call('deleteDataSource', { data_source_id: 'd', keepalive: true })
    expect(
      server.mock.calls.map(
        ([call]) => `${(call as Request).method} ${new URL((call as Request).url).pathname}`,
      ),
    ).toEqual(['GET /v1/data-source', 'GET /v1/data-source/file/d', 'DELETE /v1/data-source/d'])
  })

  it('requires a file', async () => {
    await expect(
      uploadDataSource(undefined as unknown as File, {
        signal: new AbortController().signal,
        onProgress: vi.fn(),
      }),
    ).rejects.toThrow('Required parameter file was null or undefined when calling uploadDataSource')
  })
})
