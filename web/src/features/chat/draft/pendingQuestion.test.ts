import { beforeEach, expect, it, vi } from 'vitest'
import { rememberSources } from '@/entities/source/dataSources'
import { type Upload, uploads } from '@/entities/source/uploads'
import type { DataSource } from '@/lib/api'
import { queryClient } from '@/lib/api/queries'
import { store } from '@/lib/ui/store'
import type { Conversation } from '../conversation/conversation'
import type { QuestionContent } from '../conversation/conversationState'
import { attach, attachmentsAtom, detach, isWaitingStored, readAttachments, setWaiting } from './attachments'
import { draftAtom } from './drafts'
import { sendWhenReady } from './pendingQuestion'
import { readinessOf, threadSources, usedSources } from './questionFiles'

const key = 'thread:t'
const source = (id: string, change: Partial<DataSource> = {}): DataSource => ({
  id,
  filename: `${id}.pdf`,
  media_type: 'application/pdf',
  size: 1,
  sha256: '',
  status: 'success',
  page_count: 1,
  chunk_count: 1,
  revision: 1,
  created_at: '2026-03-04T05:06:07Z',
  ...change,
})
const conversation = (...ids: string[]) =>
  ({
    state: { thread: { id: 't', data_sources: ids.map((id) => source(id)) }, turns: [] },
  }) as unknown as Conversation

beforeEach(() => {
  localStorage.clear()
  queryClient.clear()
  store.set(attachmentsAtom(key), { added: [], without: [], pictures: [], waiting: false })
  store.set(draftAtom(key), '有給休暇は何日ですか。')
})

/** hold waits for the files of a question, and returns the list of sent questions. */
function hold(of: Conversation) {
  const sent: QuestionContent[] = []
  setWaiting(key, true)
  const leave = sendWhenReady(
    key,
    of,
    (question) => sent.push(question),
    (question) => sent.push({ ...question, content: `後で：${question.content}` }),
  )
  return { sent, leave }
}

const settled = () => vi.waitFor(() => expect(readAttachments(key).waiting).toBe(false))

it('is sent once with all its files after the last one is parsed', async () => {
  rememberSources([source('a'), source('b', { status: 'running' })])
  attach(key, ['b'])
  const { sent } = hold(conversation('a'))
  expect(isWaitingStored(key)).toBe(true)
  rememberSources([source('b', { status: 'running', revision: 2 })])
  expect(sent).toEqual([])
  rememberSources([source('b', { revision: 3 })])
  await settled()
  expect(sent).toEqual([{ content: '有給休暇は何日ですか。', sources: ['a', 'b'] }])
  expect(store.get(draftAtom(key))).toBe('')
  expect(readAttachments(key).added).toEqual([])
})

it('stays in its composer if a file cannot be parsed', async () => {
  rememberSources([source('a', { status: 'pending' })])
  attach(key, ['a'])
  const { sent } = hold(conversation())
  rememberSources([source('a', { status: 'failed', revision: 2 })])
  await settled()
  rememberSources([source('a', { revision: 3 })])
  expect(sent).toEqual([])
  expect(store.get(draftAtom(key))).not.toBe('')
})

it('is not sent after the user cancels', async () => {
  rememberSources([source('a', { status: 'pending' })])
  attach(key, ['a'])
  const { sent } = hold(conversation())
  setWaiting(key, false)
  rememberSources([source('a', { revision: 2 })])
  await Promise.resolve()
  expect(sent).toEqual([])
})

it('keeps waiting after its composer has left the screen', async () => {
  rememberSources([source('a', { status: 'pending' })])
  attach(key, ['a'])
  const { sent, leave } = hold(conversation())
  leave()
  rememberSources([source('a', { revision: 2 })])
  await settled()
  expect(sent).toEqual([{ content: '後で：有給休暇は何日ですか。', sources: ['a'] }])
})

it('is not sent by a tab after another one has sent it', async () => {
  rememberSources([source('a', { status: 'pending' })])
  attach(key, ['a'])
  const { sent } = hold(conversation())
  localStorage.clear()
  rememberSources([source('a', { revision: 2 })])
  await settled()
  expect(sent).toEqual([])
})

it('is not shared with other tabs while a file is being uploaded', () => {
  const upload = { to: { name: key, onSent: () => {} }, state: 'sending' } as unknown as Upload
  vi.spyOn(uploads, 'uploads', 'get').mockReturnValue([upload])
  hold(conversation())
  expect(readAttachments(key).waiting).toBe(true)
  expect(isWaitingStored(key)).toBe(false)
})

it('uses the thread’s files without the excluded ones, and the added files', () => {
  const { state } = conversation('a', 'b')
  expect(threadSources(state)).toEqual(['a', 'b'])
  detach(key, 'a', true)
  attach(key, ['c', 'b'])
  expect(usedSources(state, readAttachments(key))).toEqual(['b', 'c'])
  attach(key, ['a'])
  expect(usedSources(state, readAttachments(key))).toEqual(['a', 'b', 'c'])
  detach(key, 'c', false)
  detach(key, 'a', true)
  detach(key, 'b', true)
  expect(usedSources(state, readAttachments(key))).toEqual([])
  expect(
    usedSources(conversation().state, { added: [], without: ['a'], pictures: [], waiting: false }),
  ).toBeUndefined()
})

it('can be sent if nothing failed and all files are parsed', () => {
  const upload = (state: Upload['state']) => ({ state }) as Upload
  expect(readinessOf([], [])).toBe('ready')
  expect(readinessOf([source('a'), undefined], [])).toBe('reading')
  expect(readinessOf([source('a')], [upload('sending')])).toBe('reading')
  expect(readinessOf([source('a', { status: 'failed' }), undefined], [])).toBe('failed')
  expect(readinessOf([source('a')], [upload('failed')])).toBe('failed')
})
