const bytes = (text: string) => new TextEncoder().encode(text).length

/** The text of an answer, and our own place in it: what a library has for the last id is not asked. */
export class Answer {
  run = 0
  /** The run of the connection. It continues the text, unless data-reset follows. */
  announced = 0
  text = ''
  done = false

  /** What to ask with, so that exactly the rest comes. */
  get headers(): Record<string, string> {
    return this.text === '' ? {} : { 'last-event-id': `${this.run}-${bytes(this.text)}` }
  }

  /** Takes an event in if it is whole and follows on the text: its id says how long the text is with it. */
  take(id: string, data: string): void {
    if (data === '[DONE]') this.done = true
    if (!data.startsWith('{')) return
    const chunk = JSON.parse(data)
    if (chunk.type === 'start') this.announced = chunk.messageMetadata.run
    if (chunk.type === 'data-reset') this.text = ''
    if (chunk.type === 'text-delta' && id === `${this.announced}-${bytes(this.text + chunk.delta)}`) {
      this.run = this.announced
      this.text += chunk.delta
    }
  }
}

/** A refusal, as a problem document: asking again is for the caller to decide. */
export class Refusal extends Error {
  constructor(readonly problem: { code: string; detail: string }) {
    super(problem.detail)
  }
}
