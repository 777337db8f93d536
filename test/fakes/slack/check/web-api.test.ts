import { LogLevel, retryPolicies, WebClient } from '@slack/web-api'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { app, bot, code, Fake, sales, taro, team, token } from './fake'

let fake: Fake
let client: WebClient

/** A client of the workspace that does not log errors, because the tests expect them. */
const connect = (secret?: string, retryConfig = { retries: 0 } as typeof retryPolicies.rapidRetryPolicy) =>
  new WebClient(secret, { slackApiUrl: `${fake.url}/api/`, retryConfig, logger: silent })

const silent = {
  debug() {},
  info() {},
  warn() {},
  error() {},
  setLevel() {},
  setName() {},
  getLevel: () => LogLevel.ERROR,
}

beforeAll(async () => {
  fake = await Fake.start()
  client = connect(token)
})

afterAll(() => fake.stop())

const say = async (text: string) => (await fake.act('say', { text })).ts

test('who the bot is, and who the people are', async () => {
  const who = await client.auth.test()
  expect(who).toMatchObject({ ok: true, team_id: team, user_id: bot })
  expect((await client.bots.info({ bot: who.bot_id ?? '' })).bot).toMatchObject({ app_id: app, user_id: bot })
  const { user } = await client.users.info({ user: taro })
  expect(user).toMatchObject({
    real_name: '鈴木 太郎',
    is_email_confirmed: true,
    is_restricted: false,
    profile: { email: 'taro@demo.example' },
  })
  expect(await code(client.users.info({ user: 'U0NOBODY01' }))).toBe('user_not_found')
  expect(await code(connect('xoxb-wrong').auth.test())).toBe('invalid_auth')
  for (const text of ['一', '二', '三']) await say(text)
  const texts: string[] = []
  for await (const page of client.paginate('conversations.history', { channel: sales, limit: 2 })) {
    texts.push(...((page as { messages?: { text: string }[] }).messages ?? []).map((one) => one.text))
  }
  expect(texts).toEqual(['三', '二', '一'])
})

test('messages are posted, changed, read and deleted', async () => {
  const thread_ts = await say('質問')
  const posted = await client.chat.postMessage({
    channel: sales,
    thread_ts,
    markdown_text: '**答え**',
    unfurl_links: false,
    unfurl_media: false,
    metadata: { event_type: 'answer', event_payload: { id: '1' } },
  })
  const ts = posted.ts ?? ''
  expect(posted.message).toMatchObject({ text: '*答え*', thread_ts, app_id: app })
  expect((await client.chat.update({ channel: sales, ts, markdown_text: '答え 2' })).text).toBe('答え 2')
  const { messages } = await client.conversations.replies({
    channel: sales,
    ts: thread_ts,
    include_all_metadata: true,
  })
  expect(messages).toHaveLength(2)
  expect(messages?.[1]).toMatchObject({
    text: '答え 2',
    metadata: { event_payload: { id: '1' } },
    edited: { user: bot },
  })
  expect((await client.conversations.history({ channel: sales, limit: 1 })).messages?.[0]).toMatchObject({
    ts: thread_ts,
    reply_count: 1,
  })
  await client.chat.delete({ channel: sales, ts })
  expect(await code(client.chat.delete({ channel: sales, ts }))).toBe('message_not_found')
  await client.chat.postEphemeral({ channel: sales, user: taro, text: '秘密' })
  expect((await fake.messages()).at(-1)).toMatchObject({ Text: '秘密', For: taro })
  expect(await code(client.chat.postMessage({ channel: sales, markdown_text: '字'.repeat(12_001) }))).toBe(
    'msg_too_long',
  )
  expect(await code(client.chat.update({ channel: sales, ts: thread_ts, text: 'a' }))).toBe(
    'cant_update_message',
  )
})

test('streams by the helper of the client', async () => {
  const thread_ts = await say('質問')
  const recipient = { recipient_team_id: team, recipient_user_id: taro }
  const stream = client.chatStream({ channel: sales, thread_ts, buffer_size: 1, ...recipient })
  for (const markdown_text of ['一', '二', '三']) await stream.append({ markdown_text })
  const ts = stream.ts ?? ''
  expect((await fake.messages()).at(-1)).toMatchObject({ TS: ts, Markdown: '一二三', Stream: 'in_progress' })
  expect(await code(client.chat.update({ channel: sales, ts, text: 'a' }))).toBe('streaming_state_conflict')
  const stopped = await stream.stop({ markdown_text: '四' })
  expect(stopped.message).toMatchObject({ text: '一二三四', streaming_state: 'completed' })
  expect(await code(client.chat.appendStream({ channel: sales, ts, markdown_text: 'a' }))).toBe(
    'message_not_in_streaming_state',
  )
  const late = client.chatStream({ channel: sales, thread_ts, buffer_size: 1, ...recipient })
  await late.append({ markdown_text: '長い' })
  await fake.control('advance', { seconds: 300 })
  expect(await code(late.append({ markdown_text: '答え' }))).toBe('message_not_in_streaming_state')
  const chunks = [{ type: 'markdown_text' as const, text: '塊' }]
  const started = await client.chat.startStream({ channel: sales, thread_ts, chunks, ...recipient })
  await client.chat.stopStream({ channel: sales, ts: started.ts ?? '', chunks })
  expect((await fake.messages()).at(-1)).toMatchObject({ Markdown: '塊塊', Stream: 'completed' })
  expect(await code(client.chat.startStream({ channel: sales, thread_ts }))).toBe('missing_recipient_team_id')
})

test('assistant threads and sessions', async () => {
  const { channel, ts } = await fake.act<{ channel: string; ts: string }>('assistant', { channel: '' })
  const at = { channel_id: channel, thread_ts: ts }
  await client.assistant.threads.setSuggestedPrompts({
    ...at,
    title: 'スキル',
    prompts: [{ title: '要約', message: '要約して' }],
  })
  await client.assistant.threads.setTitle({ ...at, title: '題名' })
  await client.assistant.threads.setStatus({ ...at, status: '考えています…' })
  expect(await code(client.assistant.threads.setStatus({ ...at, thread_ts: '1.000001', status: 'a' }))).toBe(
    'invalid_thread_ts',
  )
  expect(await client.agents.sessions.setStatus({ ...at, status: 'processing' })).toMatchObject({
    status: 'processing',
  })
  expect((await fake.act<{ ok: boolean }>('stop', { channel, thread: ts })).ok).toBe(true)
})

test('files go up and come down', async () => {
  const thread_ts = await say('質問')
  const content = '# 長い答え\n'.repeat(1000)
  await client.files.uploadV2({
    channel_id: sales,
    thread_ts,
    filename: 'answer.md',
    content,
    initial_comment: '続き',
  })
  const { messages } = await client.conversations.replies({ channel: sales, ts: thread_ts })
  const id = messages?.[1]?.files?.[0]?.id ?? ''
  const { file } = await client.files.info({ file: id })
  expect(file).toMatchObject({ name: 'answer.md', size: new TextEncoder().encode(content).length })
  const download = (headers: Record<string, string>) =>
    fetch(file?.url_private_download ?? '', { headers, redirect: 'manual' })
  expect(await (await download({ authorization: `Bearer ${token}` })).text()).toBe(content)
  expect((await download({})).status).toBe(302)
})

test('views and blocks', async () => {
  const blocks = [
    { type: 'section' as const, text: { type: 'mrkdwn' as const, text: '*連携* しています。' } },
  ]
  const { view } = await client.views.publish({ user_id: taro, view: { type: 'home', blocks } })
  expect(view).toMatchObject({ type: 'home' })
  const long = [{ type: 'section' as const, text: { type: 'mrkdwn' as const, text: '字'.repeat(3001) } }]
  expect(await code(client.chat.postMessage({ channel: sales, text: 'a', blocks: long }))).toBe(
    'invalid_blocks',
  )
})

test('the client understands rate limits and failures', async () => {
  const patient = connect(token, retryPolicies.rapidRetryPolicy)
  await fake.control('fail', { fault: { Method: 'auth.test', Status: 429, RetryAfter: 1e9 } })
  const begun = Date.now()
  expect((await patient.auth.test()).ok).toBe(true)
  expect(Date.now() - begun).toBeGreaterThan(900)
  await fake.control('fail', { fault: { Method: 'auth.test', Status: 503 } })
  await fake.control('fail', { fault: { Method: 'auth.test', Cut: true } })
  expect((await patient.auth.test()).ok).toBe(true)
})

test('installing and signing in', async () => {
  const authorize = async (path: string, query: Record<string, string>) => {
    const url = `${fake.url}${path}?${new URLSearchParams({
      client_id: '1000.1001',
      redirect_uri: 'https://app.example/cb',
      state: 's1',
      ...query,
    })}`
    expect(await (await fetch(url)).text()).toContain('許可する')
    const body = new URLSearchParams({ person: taro, decision: 'allow' })
    const answer = await fetch(url, { method: 'POST', body, redirect: 'manual' })
    const back = new URL(answer.headers.get('location') ?? '')
    expect(back.searchParams.get('state')).toBe('s1')
    return back.searchParams.get('code') ?? ''
  }
  const known = {
    client_id: '1000.1001',
    client_secret: 'demo-client-secret',
    redirect_uri: 'https://app.example/cb',
  }
  const anyone = connect()
  const access = await anyone.oauth.v2.access({
    ...known,
    code: await authorize('/oauth/v2/authorize', { scope: 'chat:write,im:write' }),
  })
  expect(access).toMatchObject({
    team: { id: team },
    scope: 'chat:write,im:write',
  })
  const openid = await authorize('/openid/connect/authorize', {
    scope: 'openid',
    response_type: 'code',
    nonce: 'n',
  })
  const signed = await anyone.openid.connect.token({ ...known, code: openid })
  expect(JSON.parse(atob(signed.id_token?.split('.')[1] ?? ''))).toMatchObject({ sub: taro, nonce: 'n' })
  expect(await code(anyone.openid.connect.token({ ...known, code: openid }))).toBe('invalid_code')
  const other = connect(access.access_token)
  expect(await code(other.users.info({ user: taro }))).toBe('missing_scope')
})
