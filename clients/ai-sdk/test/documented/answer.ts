const bytes = (text: string) => new TextEncoder().encode(text).length

/** The received part of an answer. Its own length is the cursor, because libraries set the last id too early. */
export class Answer {
  run = 0
  /** The run of the connection. It continues the text, unless data-reset follows. */
  announced = 0
  text = ''
  done = false

  /** The headers of a request for the rest of the answer. */
  get headers(): Record<string, string> {
    return this.text === '' ? {} : { 'last-event-id': `${this.run}-${bytes(this.text)}` }
  }

  /** Processes an event. It appends a delta only if the id is the length of the text with it. */
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

/** A refusal with its problem document. It is not retried. */
export class Refusal extends Error {
  constructor(readonly problem: { code: string; detail: string }) {
    super(problem.detail)
  }
}
