import { afterEach, describe, expect, it } from 'vitest'
import type { Picture, Skill } from '@/lib/api'
import { store } from '@/lib/ui/store'
import { attach, attachPicture, clearAdded, readAttachments } from './attachments'
import { draftAtom, draftKey, moveDraftToOtherSkill, moveDraftToSkill } from './drafts'
import { enqueue } from './queue'

const from = draftKey('general', undefined)
const to = draftKey('other', undefined)
const picture = { id: 'p' } as Picture
const skill = (values: Partial<Skill>) => ({ id: 'other', form_type: 'chat', ...values }) as Skill
const texts = () => [from, to].map((key) => store.get(draftAtom(key)))
const files = () => [from, to].map((key) => readAttachments(key).added)

describe('a draft that moves to another skill', () => {
  afterEach(() => {
    for (const key of [from, to]) {
      store.set(draftAtom(key), '')
      clearAdded(key)
    }
  })

  const move = (values: Partial<Skill>) => {
    store.set(draftAtom(from), '質問')
    attach(from, ['f'])
    attachPicture(from, picture)
    moveDraftToOtherSkill(from, skill(values))
  }

  it('takes its files and pictures along, and keeps the text there', () => {
    store.set(draftAtom(to), '前の質問')
    move({ accepts_data_sources: true })
    expect(texts()).toEqual(['', '前の質問\n\n質問'])
    expect(files()).toEqual([[], ['f']])
    expect(readAttachments(to).pictures).toEqual([picture])
  })

  it('leaves its attachments where they are if the skill accepts no files', () => {
    move({ accepts_data_sources: false })
    expect(texts()).toEqual(['', '質問'])
    expect(files()).toEqual([['f'], []])
    expect(readAttachments(from).pictures).toEqual([picture])
  })

  it.each([{ form_type: 'form' }, { unavailable_reason: '未設定' }] as const)(
    'stays as it is if the skill has no composer (%o)',
    (values) => {
      move(values)
      expect(texts()).toEqual(['質問', ''])
      expect(files()).toEqual([['f'], []])
    },
  )
})

it('the draft and the queue of a deleted thread move before the draft of the skill, with their attachments', () => {
  const thread = draftKey('general', 't')
  const queued = { id: 'q' } as Picture
  enqueue('t', { content: '送れなかった質問', pictures: [queued] }, undefined)
  store.set(draftAtom(thread), '次の質問')
  attachPicture(thread, picture)
  store.set(draftAtom(from), '下書き')
  moveDraftToSkill('general', 't')
  expect(store.get(draftAtom(from))).toBe('送れなかった質問\n\n次の質問\n\n下書き')
  expect(readAttachments(from).pictures).toEqual([queued, picture])
  expect(store.get(draftAtom(thread))).toBe('')
  store.set(draftAtom(from), '')
  clearAdded(from)
})
