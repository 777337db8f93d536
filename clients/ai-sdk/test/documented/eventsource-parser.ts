import { EventSourceParserStream } from 'eventsource-parser/stream'
import { Answer, Refusal } from './answer.js'

export async function follow(url: string, token: string): Promise<Answer> {
  const answer = new Answer()
  for (let retry = 1800; ; await new Promise((resolve) => setTimeout(resolve, retry))) {
    try {
      const headers = { authorization: `Bearer ${token}`, ...answer.headers }
      const response = await fetch(url, { headers })
      if (response.status === 204) return answer
      if (!response.ok || response.body === null) throw new Refusal(await response.json())
      const parser = new EventSourceParserStream({ onRetry: (ms) => (retry = ms) })
      const events = response.body.pipeThrough(new TextDecoderStream()).pipeThrough(parser).getReader()
      for (let next = await events.read(); !next.done; next = await events.read())
        answer.take(next.value.id ?? '', next.value.data)
    } catch (error) {
      if (error instanceof Refusal) throw error
    }
    if (answer.done) return answer
  }
}
