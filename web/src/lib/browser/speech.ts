import { atom } from 'jotai'
import { store } from '@/lib/ui/store'

/** The name of the text that is being read aloud, or null. */
export const speakingAtom = atom<string | null>(null)

/** canSpeak reports whether the browser can read texts aloud. */
export function canSpeak(): boolean {
  return 'speechSynthesis' in window
}

/** The time to wait for the list of voices, which some browsers load late, in milliseconds. */
const voicesMs = 2000

/**
 * speak reads a text aloud with a voice of this device. Voices of a service are not used, because they receive the
 * text. It reports false if the device has no voice.
 */
export async function speak(name: string, text: string): Promise<boolean> {
  stopSpeaking()
  store.set(speakingAtom, name)
  const voice = voiceFor(text, await localVoices())
  // Another text may have begun, or the reader has stopped this one.
  if (store.get(speakingAtom) !== name) return true
  if (voice === undefined) {
    stopSpeaking()
    return false
  }
  const sentences = sentencesOf(text)
  for (const [index, sentence] of sentences.entries()) {
    const utterance = new SpeechSynthesisUtterance(sentence)
    utterance.voice = voice
    utterance.lang = voice.lang
    if (index === sentences.length - 1) utterance.onend = () => finish(name)
    utterance.onerror = () => finish(name)
    speechSynthesis.speak(utterance)
  }
  return true
}

/** stopSpeaking stops reading aloud. */
export function stopSpeaking(): void {
  if (store.get(speakingAtom) === null) return
  store.set(speakingAtom, null)
  speechSynthesis.cancel()
}

function finish(name: string): void {
  if (store.get(speakingAtom) === name) store.set(speakingAtom, null)
}

async function localVoices(): Promise<readonly SpeechSynthesisVoice[]> {
  const local = () => speechSynthesis.getVoices().filter((voice) => voice.localService)
  if (local().length > 0) return local()
  await new Promise((resolve) => {
    speechSynthesis.addEventListener('voiceschanged', resolve, { once: true })
    setTimeout(resolve, voicesMs)
  })
  return local()
}

/** voiceFor returns a voice for the language of a text: Japanese if it has kana, otherwise English. */
function voiceFor(text: string, voices: readonly SpeechSynthesisVoice[]): SpeechSynthesisVoice | undefined {
  const language = /[\u3040-\u30ff]/.test(text) ? 'ja' : 'en'
  const speaking = voices.filter(({ lang }) => lang.toLowerCase().startsWith(language))
  return speaking.find((voice) => voice.default) ?? speaking[0]
}

/** sentencesOf divides a text, because browsers stop in the middle of a long one. */
export function sentencesOf(text: string): readonly string[] {
  return text
    .split(/(?<=[。！？!?\n])/)
    .flatMap((sentence) => sentence.match(/.{1,200}/gs) ?? [])
    .map((sentence) => sentence.trim())
    .filter((sentence) => /[\p{L}\p{N}]/u.test(sentence))
}

window.addEventListener('pagehide', stopSpeaking)
