import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { App, HTTPReceiver, LogLevel } from '@slack/bolt'
import { afterEach, expect, test } from 'vitest'
import { appToken, bot, Fake, sales, signingSecret, taro, token } from './fake'

const cleanups: (() => Promise<unknown>)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

/** The events that Bolt's listeners received. */
interface Heard {
  readonly mentions: string[]
  readonly others: string[]
}

function listen(app: App): Heard {
  const heard: Heard = { mentions: [], others: [] }
  app.event('app_mention', async ({ event }) => void heard.mentions.push(event.text))
  app.message(async ({ message, say }) => {
    heard.others.push(`message ${message.subtype ?? ''}`.trim())
    if ('text' in message && message.text?.includes('答えて')) await say('答え')
  })
  app.event('app_home_opened', async ({ event }) => void heard.others.push(`home ${event.user}`))
  app.command('/tsumugi', async ({ ack, command }) => {
    heard.others.push(`command ${command.text}`)
    await ack('使い方')
  })
  app.shortcut('tsumugi_summarize', async ({ ack }) => {
    heard.others.push('shortcut')
    await ack()
  })
  app.action('again', async ({ ack, respond }) => {
    heard.others.push('action')
    await ack()
    await respond({ text: '押しました' })
  })
  return heard
}

/** A proxy in front of Bolt; change may alter the requests. */
async function relay(target: number, change: (body: string) => string): Promise<string> {
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const { host: _, 'content-length': __, ...headers } = request.headers
    const answer = await fetch(`http://127.0.0.1:${target}/slack/events`, {
      method: 'POST',
      headers: headers as Record<string, string>,
      body: change(body),
    })
    response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' })
    response.end(await answer.text())
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  cleanups.push(() => new Promise((resolve) => server.close(resolve)))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function overHTTP(change = (body: string) => body) {
  const fake = await Fake.start()
  cleanups.push(() => fake.stop())
  const receiver = new HTTPReceiver({ signingSecret, logLevel: LogLevel.ERROR })
  const app = new App({
    token,
    receiver,
    clientOptions: { slackApiUrl: `${fake.url}/api/` },
    logLevel: LogLevel.ERROR,
  })
  const heard = listen(app)
  const server = await app.start(0)
  cleanups.push(() => app.stop())
  const server_ = await relay((server.address() as AddressInfo).port, change)
  await fake.control('connect', { server: server_ })
  return { fake, heard }
}

const mention = `@Tsumugi 答えて`

test('Bolt takes what the workspace signs: events, interactions, commands', async () => {
  const { fake, heard } = await overHTTP()
  await fake.act('say', { text: mention })
  expect(await fake.delivered('app_mention')).toEqual([200])
  await expect.poll(() => heard.mentions).toEqual([`<@${bot}> 答えて`])
  await expect.poll(async () => (await fake.messages()).map((message) => message.Text)).toContain('答え')
  await fake.act('home')
  await expect.poll(() => heard.others).toContain(`home ${taro}`)
  expect(await fake.act('say', { text: '/tsumugi help' })).toMatchObject({ ok: true })
  expect((await fake.messages()).at(-1)?.Text).toBe('使い方')
  const answer = (await fake.messages()).find((message) => message.Text === '答え')
  expect(await fake.act('shortcut', { ts: answer?.TS, action: 'tsumugi_summarize' })).toMatchObject({
    ok: true,
  })
  const button = { type: 'button', action_id: 'again', text: { type: 'plain_text', text: '再回答' } }
  const posted = await fetch(`${fake.url}/api/chat.postMessage`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      channel: sales,
      text: '初めの答え',
      blocks: [{ type: 'actions', elements: [button] }],
    }),
  })
  const { ts } = (await posted.json()) as { ts: string }
  expect(await fake.act('click', { ts, action: 'again' })).toMatchObject({ ok: true })
  await expect.poll(async () => (await fake.messages()).at(-1)?.Text).toBe('押しました')
  expect(heard.others).toEqual(expect.arrayContaining(['command help', 'shortcut', 'action']))
})

test('Bolt refuses an altered body', async () => {
  const { fake, heard } = await overHTTP((body) => body.replace('答えて', '消して'))
  await fake.act('say', { text: mention })
  expect((await fake.delivered('app_mention'))[0]).toBe(401)
  expect(heard.mentions).toEqual([])
})

test('Bolt refuses a signature of 301 seconds ago, and takes one of 290', async () => {
  const { fake, heard } = await overHTTP()
  await fake.control('advance', { seconds: -290 })
  await fake.act('say', { text: mention })
  expect(await fake.delivered('app_mention')).toEqual([200])
  await fake.control('advance', { seconds: -11 })
  await fake.act('say', { text: mention })
  await expect.poll(async () => (await fake.delivered('app_mention'))[0]).toBe(401)
  await expect.poll(() => heard.mentions).toHaveLength(1)
})

test('Socket Mode: Bolt connects, hears, answers, and connects again', async () => {
  const fake = await Fake.start('--socket-mode')
  cleanups.push(() => fake.stop())
  const app = new App({
    token,
    appToken,
    socketMode: true,
    clientOptions: { slackApiUrl: `${fake.url}/api/` },
    logLevel: LogLevel.ERROR,
  })
  const heard = listen(app)
  await app.start()
  cleanups.push(() => app.stop())
  await expect.poll(() => fake.sockets()).toBe(1)
  await fake.act('say', { text: mention })
  expect(await fake.delivered('app_mention')).toEqual([200])
  expect(await fake.act('say', { text: '/tsumugi help' })).toMatchObject({ ok: true })
  expect((await fake.messages()).map((message) => message.Text)).toContain('使い方')
  await fake.control('refresh', { reason: 'refresh_requested' })
  await expect.poll(() => fake.sockets(), { timeout: 15_000 }).toBe(1)
  await fake.act('say', { text: mention })
  await expect.poll(() => heard.mentions, { timeout: 15_000 }).toHaveLength(2)
})
