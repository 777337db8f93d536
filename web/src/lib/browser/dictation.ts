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

/** The place where speech is recognized: this device, or a service of the browser's vendor that receives the audio. */
export type Recognizer = 'device' | 'service'

/** recognitionClass returns the browser's recognition; null if it has none there. */
function recognitionClass(recognizer: Recognizer): RecognitionClass | null {
  const { SpeechRecognition, webkitSpeechRecognition } = globalThis as {
    SpeechRecognition?: RecognitionClass
    webkitSpeechRecognition?: RecognitionClass
  }
  const found = SpeechRecognition ?? webkitSpeechRecognition
  if (found === undefined) return null
  const local = 'available' in found && 'processLocally' in found.prototype
  return local || recognizer === 'service' ? found : null
}

/**
 * findRecognizer returns where Japanese can be recognized, on this device perhaps after a download by the browser; null
 * if nowhere. `service` allows a service.
 */
export async function findRecognizer(service: boolean): Promise<Recognizer | null> {
  try {
    // Without a microphone, Chromium's headless shell crashes when it is asked.
    if (recognitionClass('service') === null || !(await hasMicrophone())) return null
    const state = await recognitionClass('device')?.available(options)
    if (state === 'available' || state === 'downloadable') return 'device'
    return service ? 'service' : null
  } catch {
    return null
  }
}

async function hasMicrophone(): Promise<boolean> {
  const devices = await navigator.mediaDevices.enumerateDevices()
  return devices.some(({ kind }) => kind === 'audioinput')
}

/** The reason why a dictation ended: `done` after stop, or an error. */
export type DictationEnd = 'done' | 'not-allowed' | 'failed'

/** Dictation is a running recognition. */
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

  /**
   * Begins to recognize speech. `onText` receives each finished phrase. It rejects if the speech cannot be recognized, or
   * if the signal is aborted while the browser installs its recognition.
   */
  static async begin(
    recognizer: Recognizer,
    signal: AbortSignal,
    onText: (text: string) => void,
    onEnd: (end: DictationEnd) => void,
  ): Promise<Dictation> {
    const Class = recognitionClass(recognizer)
    if (Class === null) throw new Error('no recognition')
    if (recognizer === 'device') {
      const state = await Class.available(options)
      if (state !== 'available' && !(await Class.install(options))) throw new Error('not installed')
    }
    signal.throwIfAborted()
    const recognition = new Class()
    recognition.lang = language
    recognition.continuous = true
    recognition.processLocally = recognizer === 'device'
    const dictation = new Dictation(recognition, onText, onEnd)
    recognition.start()
    return dictation
  }

  stop(): void {
    this.#recognition.stop()
  }
}
