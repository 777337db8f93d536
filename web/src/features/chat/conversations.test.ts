import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Picture, Skill } from '@/lib/api'
import { queryClient, skillQuery } from '@/lib/api/queries'
import { store } from '@/lib/ui/store'
import type { Conversation } from './conversation/conversation'
import { message, thread } from './conversation/testing'
import { askLater, begin, newConversation, openConversation, sendQueued } from './conversations'
import { attachPicture, clearAdded, readAttachments } from './draft/attachments'
import { draftAtom, draftKey } from './draft/drafts'
import { clearQueue, readQueue } from './draft/queue'
import { skillLoader } from './loader'

const picture = { id: 'p' } as Picture
const next = { id: 'n' } as Picture
const lost = { content: '送れない質問', pictures: [picture] }
const refused = { status: 400, code: 'invalid', detail: '受け付けられません。' }
const costly = { status: 409, code: 'confirmation_required', estimated_tokens: 183_400 }

let number = 0
/** Each test uses another thread, because conversations are cached by thread. */
let id = ''
let skill = ''
/** The bodies of the questions that were sent. */
let asked: { request_id: string; content: string; accept_tokens?: number }[]
/** The server's responses to questions and to new threads. A question without a response is not answered. */
let responses: object[]
let creations: object[]

const threadOf = () => ({ ...thread, id })
const draft = (key: string) => store.get(draftAtom(key))
const contents = () => readQueue(id).map(({ content }) => content)

beforeEach(() => {
  id = `thread${++number}`
  skill = `skill${number}`
  asked = []
  responses = []
  creations = []
  const respond = (response: object) =>
    Response.json(response, { status: 'status' in response ? Number(response.status) : 200 })
  vi.stubGlobal('fetch', (async (input: RequestInfo | URL) => {
    const request = input as Request
    const { pathname } = new URL(request.url)
    if (request.method === 'GET')
      return respond({ items: [2, 1].map((n) => message(n, { thread_id: id })), total: 2 })
    if (pathname === '/v1/thread') return respond(creations.shift() ?? threadOf())
    if (!pathname.startsWith('/v1/message')) return respond({})
    asked.push(await request.json())
    const response = responses.shift()
    return response === undefined ? new Promise<Response>(() => {}) : respond(response)
  }) satisfies typeof fetch)
})

afterEach(() => {
  for (const key of [draftKey(skill, id), draftKey(skill, undefined)]) {
    store.set(draftAtom(key), '')
    clearAdded(key)
  }
  clearQueue(id)
})

/** open returns a conversation with one answered question. */
function open(): Conversation {
  const conversation = openConversation(skill, threadOf())
  conversation.load(threadOf(), [message(2, { thread_id: id }), message(1, { thread_id: id })])
  return conversation
}

/** lose asks a question that the server refuses while the user types the next one. */
async function lose(conversation: Conversation, response: object): Promise<void> {
  responses.push(response)
  const { thread } = conversation.state
  void conversation.ask({ kind: 'text', ...lost })
  const key = draftKey(skill, thread?.id)
  store.set(draftAtom(key), '次')
  attachPicture(key, next)
  await vi.waitFor(() => expect(conversation.state.failure ?? conversation.state.costly).not.toBeNull())
}

describe('a question that is refused while the user types the next one', () => {
  it('is in the queue, and is not sent again by itself', async () => {
    const conversation = open()
    await lose(conversation, refused)
    expect(readQueue(id)).toMatchObject([
      { ...lost, id: asked[0]?.request_id, after: 'm001', parent: 'm002', failed: true },
    ])
    expect(draft(draftKey(skill, id))).toBe('次')
    expect(readAttachments(draftKey(skill, id)).pictures).toEqual([next])
    conversation.dismissFailure()
    expect(contents()).toEqual(['送れない質問'])
    expect(asked).toHaveLength(1)
  })

  it('is the same request if it is sent from the queue', async () => {
    const conversation = open()
    await lose(conversation, refused)
    sendQueued(conversation)
    await vi.waitFor(() => expect(asked).toHaveLength(2))
    expect(asked[1]).toEqual(asked[0])
  })

  it('leaves the queue on a retry, and returns if the retry fails', async () => {
    const conversation = open()
    await lose(conversation, refused)
    responses.push(refused)
    conversation.state.failure?.retry()
    expect(contents()).toEqual([])
    await vi.waitFor(() => expect(contents()).toEqual(['送れない質問']))
    expect(asked[1]).toEqual(asked[0])
    expect(draft(draftKey(skill, id))).toBe('次')
  })

  it('stays in the queue if its retry is not possible yet', async () => {
    const conversation = open()
    await lose(conversation, refused)
    const retry = conversation.state.failure?.retry
    void conversation.ask({ kind: 'text', content: '次' })
    retry?.()
    expect(contents()).toEqual(['送れない質問'])
  })

  it('is in the queue after its cost was declined', async () => {
    const conversation = open()
    await lose(conversation, costly)
    conversation.declineCost()
    expect(contents()).toEqual(['送れない質問'])
    expect(draft(draftKey(skill, id))).toBe('次')
  })

  it('leaves the queue if its cost is accepted', async () => {
    const conversation = open()
    await lose(conversation, costly)
    conversation.state.costly?.proceed()
    await vi.waitFor(() => expect(asked).toHaveLength(2))
    expect(asked[1]).toEqual({ ...asked[0], accept_tokens: 183_400 })
    expect(contents()).toEqual([])
  })

  it.each(['the thread could not be created', 'its new thread is deleted'])(
    'is in front of the next one if %s',
    async (why) => {
      if (why === 'the thread could not be created') creations.push(refused)
      const conversation = newConversation(skill)
      const key = draftKey(skill, undefined)
      await lose(conversation, refused)
      expect(conversation.state.thread).toBeNull()
      expect(draft(key)).toBe('送れない質問\n\n次')
      expect(readAttachments(key).pictures).toEqual([next, picture])
      conversation.state.failure?.retry()
      expect(draft(key)).toBe('次')
      expect(readAttachments(key).pictures).toEqual([next])
      begin(skill)
    },
  )

  it('is in the queue if it could not be added to the queue of a shared thread', async () => {
    const conversation = open()
    responses.push(refused)
    askLater(conversation, { ...threadOf(), visibility: 'project' }, lost)
    store.set(draftAtom(draftKey(skill, id)), '次')
    await vi.waitFor(() => expect(readQueue(id)).toMatchObject([{ ...lost, failed: true }]))
    expect(readQueue(id)[0]?.id).toBe(asked[0]?.request_id)
    expect(draft(draftKey(skill, id))).toBe('次')
  })
})

it('a refused question returns to an empty composer', async () => {
  const conversation = open()
  responses.push(refused)
  void conversation.ask({ kind: 'text', ...lost })
  await vi.waitFor(() => expect(draft(draftKey(skill, id))).toBe('送れない質問'))
  expect(readAttachments(draftKey(skill, id)).pictures).toEqual([picture])
  expect(contents()).toEqual([])
})

it('shows a thread that this tab has without a network', async () => {
  const conversation = open()
  queryClient.setQueryData(skillQuery(skill).queryKey, { id: skill } as Skill, { updatedAt: 1 })
  vi.stubGlobal('fetch', () => Promise.reject(new TypeError('Failed to fetch')))
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  const params = { skillId: skill, threadId: id }
  const loaded = skillLoader({ params } as never).catch((cause: unknown) => cause)
  await vi.advanceTimersByTimeAsync(5_000) // The retries of the request for the skill.
  vi.useRealTimers()
  expect(await loaded).toMatchObject({ skill: { id: skill }, conversation: { skillId: skill } })
  expect(conversation.state.turns).toHaveLength(2)
})
