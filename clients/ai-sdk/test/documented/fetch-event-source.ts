import { fetchEventSource } from '@microsoft/fetch-event-source'
import { Answer, Refusal } from './answer.js'

export async function ask(url: string, token: string, body: string): Promise<Answer> {
  const answer = new Answer()
  await fetchEventSource(url, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body, // The same request_id every time, so that the question is asked once.
    openWhenHidden: true,
    // The library sets its last-event-id before the event is complete, so it is replaced.
    fetch: (input, init) => {
      const { 'last-event-id': _, ...headers } = (init?.headers ?? {}) as Record<string, string>
      return fetch(input, { ...init, headers: { ...headers, ...answer.headers } })
    },
    onopen: async (response) => {
      if (!response.ok) throw new Refusal(await response.json())
    },
    onmessage: ({ id, data }) => answer.take(id, data),
    onclose: () => {
      if (!answer.done) throw new Error('the connection ended before the answer')
    },
    onerror: (error) => {
      if (error instanceof Refusal) throw error // All else is tried again, after the time that the server has named.
    },
  })
  return answer
}
