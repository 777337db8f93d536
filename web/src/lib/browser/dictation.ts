/** The part of the browser's speech recognition that the app uses; TypeScript's library lacks most of it. */
interface Recognition extends EventTarget {
  lang: string
  continuous: boolean
  processLocally: boolean
  start(): void
  stop(): void
}

interface RecognitionClass {
  new (): Recognition
  available(options: Options): Promise<'available' | 'downloadable' | 'downloading' | 'unavailable'>
  install(options: Options): Promise<boolean>
}

interface Options {
  readonly langs: readonly string[]
  readonly processLocally: true
}

interface ResultEvent extends Event {
  readonly resultIndex: number
  readonly results: ArrayLike<{ readonly isFinal: boolean; readonly 0: { readonly transcript: string } }>
}

const language = 'ja-JP'
const options: Options = { langs: [language], processLocally: true }

/** recognitionClass returns the recognition that can be limited to this device; null if the browser has none. */
function recognitionClass(): RecognitionClass | null {
  const found = (globalThis as { SpeechRecognition?: RecognitionClass }).SpeechRecognition
  const local = found !== undefined && 'available' in found && 'processLocally' in found.prototype
  return local ? found : null
}

/**
 * canDictate reports whether this device recognizes Japanese, perhaps after a download by the browser. Recognition that
 * sends the audio to a service does not count.
 */
export async function canDictate(): Promise<boolean> {
  try {
    // Without a microphone, Chromium's headless shell crashes when it is asked.
    if (recognitionClass() === null || !(await hasMicrophone())) return false
    const state = await recognitionClass()?.available(options)
    return state === 'available' || state === 'downloadable'
  } catch {
    return false
  }
}

async function hasMicrophone(): Promise<boolean> {
  const devices = await navigator.mediaDevices.enumerateDevices()
  return devices.some(({ kind }) => kind === 'audioinput')
}

/** The reason why a dictation ended: `done` after stop, or an error. */
export type DictationEnd = 'done' | 'not-allowed' | 'failed'

/** Dictation is a running recognition on this device. */
export class Dictation {
  readonly #recognition: Recognition
  #end: DictationEnd = 'done'

  private constructor(
    recognition: Recognition,
    onText: (text: string) => void,
    onEnd: (end: DictationEnd) => void,
  ) {
    this.#recognition = recognition
    recognition.addEventListener('result', (event) => {
      const { results, resultIndex } = event as ResultEvent
      const final = Array.from(results)
        .slice(resultIndex)
        .filter((result) => result.isFinal)
      if (final.length > 0) onText(final.map((result) => result[0].transcript).join(''))
    })
    recognition.addEventListener('error', (event) => {
      const { error } = event as Event & { readonly error: string }
      if (error === 'no-speech' || error === 'aborted') return
      this.#end = error === 'not-allowed' ? 'not-allowed' : 'failed'
    })
    recognition.addEventListener('end', () => onEnd(this.#end))
  }

  /** Begins to recognize speech. `onText` receives each finished phrase. It rejects if the device cannot recognize it. */
  static async begin(onText: (text: string) => void, onEnd: (end: DictationEnd) => void): Promise<Dictation> {
    const Class = recognitionClass()
    if (Class === null) throw new Error('no recognition on this device')
    const state = await Class.available(options)
    if (state !== 'available' && !(await Class.install(options))) throw new Error('not installed')
    const recognition = new Class()
    recognition.lang = language
    recognition.continuous = true
    recognition.processLocally = true
    const dictation = new Dictation(recognition, onText, onEnd)
    recognition.start()
    return dictation
  }

  stop(): void {
    this.#recognition.stop()
  }
}
