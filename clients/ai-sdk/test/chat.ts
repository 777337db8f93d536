import { AbstractChat, type ChatInit, type ChatState, type ChatStatus, type UIMessage } from 'ai'

/** The state of a chat without a UI framework. */
class State implements ChatState<UIMessage> {
  status: ChatStatus = 'ready'
  error: Error | undefined = undefined

  constructor(public messages: UIMessage[]) {}

  pushMessage = (message: UIMessage) => {
    this.messages = [...this.messages, this.snapshot(message)]
  }
  popMessage = () => {
    this.messages = this.messages.slice(0, -1)
  }
  replaceMessage = (index: number, message: UIMessage) => {
    this.messages = this.messages.with(index, this.snapshot(message))
  }
  snapshot = <T>(value: T): T => structuredClone(value)
}

/** The AI SDK's chat as `useChat` has it. */
export class Chat extends AbstractChat<UIMessage> {
  constructor({ messages = [], ...init }: ChatInit<UIMessage>) {
    super({ ...init, state: new State(messages) })
  }
}

export function textOf(message: UIMessage | undefined): string {
  return (message?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('')
}
