import { useChat } from '@ai-sdk/react'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { TsumugiChatTransport } from '../src/index.js'

declare global {
  interface Window {
    readonly idToken: string
  }
}

/** A minimal page with a chat for the browser tests in web/e2e. The thread's id is in the address. */
const thread = new URLSearchParams(location.search).get('thread') ?? ''
const transport = new TsumugiChatTransport({ token: () => window.idToken })

function Page() {
  const { messages, sendMessage, status, error } = useChat({ id: thread, transport, resume: true })
  return (
    <>
      <form
        onSubmit={(event) => {
          event.preventDefault()
          void sendMessage({ text: String(new FormData(event.currentTarget).get('question')) })
        }}
      >
        <input name="question" aria-label="質問" />
        <button type="submit">送信</button>
        <button type="button" onClick={() => void transport.stop(thread)}>
          停止
        </button>
      </form>
      <p role="status">{error ? `${status}: ${error.message}` : status}</p>
      {messages.map(({ id, role, parts }) => (
        <pre key={id} data-role={role} data-id={id}>
          {parts.map((part) => (part.type === 'text' ? part.text : ''))}
        </pre>
      ))}
    </>
  )
}

const root = document.getElementById('root')
if (root) {
  createRoot(root).render(
    <StrictMode>
      <Page />
    </StrictMode>,
  )
}
