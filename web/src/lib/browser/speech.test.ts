import { beforeEach, expect, it, vi } from 'vitest'
import { store } from '@/lib/ui/store'
import { sentencesOf, speak, speakingAtom, stopSpeaking } from './speech'

class Utterance {
  voice: unknown = null
  lang = ''
  onend = () => {}
  onerror = () => {}
  constructor(readonly text: string) {}
}

const local = { name: 'Kyoko', lang: 'ja-JP', localService: true, default: false }
const remote = { name: 'Google 日本語', lang: 'ja-JP', localService: false, default: true }
const english = { name: 'Alex', lang: 'en-US', localService: true, default: true }

/** A fake of the browser's speech with these voices. `spoken` are the utterances since the last cancellation. */
function synthesis(voices: readonly object[]) {
  let spoken: Utterance[] = []
  vi.stubGlobal('SpeechSynthesisUtterance', Utterance)
  vi.stubGlobal('speechSynthesis', {
    getVoices: () => voices,
    speak: (utterance: Utterance) => spoken.push(utterance),
    cancel: () => {
      spoken = []
    },
    addEventListener: (_: string, loaded: () => void) => loaded(),
  })
  return { spoken: () => spoken }
}

beforeEach(() => store.set(speakingAtom, null))

it('reads a text sentence by sentence with a voice of the device, and ends', async () => {
  const { spoken } = synthesis([remote, english, local])
  expect(await speak('a', '一つ目です。二つ目です。')).toBe(true)
  expect(spoken().map(({ text }) => text)).toEqual(['一つ目です。', '二つ目です。'])
  expect(spoken().map(({ voice }) => voice)).toEqual([local, local])
  expect(store.get(speakingAtom)).toBe('a')
  spoken()[0]?.onend()
  expect(store.get(speakingAtom)).toBe('a')
  spoken()[1]?.onend()
  expect(store.get(speakingAtom)).toBeNull()
})

it('stops, and one text stops another', async () => {
  const { spoken } = synthesis([local])
  await speak('a', '一つ目です。')
  const [first] = spoken()
  await speak('b', '二つ目です。')
  first?.onerror()
  expect(store.get(speakingAtom)).toBe('b')
  stopSpeaking()
  expect([spoken(), store.get(speakingAtom)]).toEqual([[], null])
})

it('does not send a text to the voice of a service', async () => {
  const { spoken } = synthesis([remote])
  expect(await speak('a', 'こんにちは。')).toBe(false)
  expect([spoken(), store.get(speakingAtom)]).toEqual([[], null])
})

it('divides long sentences, and leaves out those without words', () => {
  expect(sentencesOf(`${'あ'.repeat(250)}\n---\n\nはい？いいえ`).map((part) => part.length)).toEqual([
    200, 50, 3, 3,
  ])
})
