import { Answer } from './answer.js'

export function watch(messageId: string, show: (answer: Answer) => void): void {
  const answer = new Answer()
  const source = new EventSource(`/gateway/message/${messageId}/stream`)
  source.onmessage = ({ lastEventId, data }) => {
    answer.take(lastEventId, data)
    show(answer)
    if (answer.done) source.close()
  }
}
