/** ServerEvent is a complete event of an event stream, ended by a blank line. */
export interface ServerEvent {
  /** The value of `data:`; empty if the event has none. */
  readonly data: string
  /** The value of `id:` in this event. Ids of earlier events do not carry over. */
  readonly id: string | undefined
  /** The value of `retry:`, in milliseconds. */
  readonly retry: number | undefined
}

/**
 * readEvents parses an event stream as defined in the WHATWG's section on server-sent events. It ignores an event that
 * is cut off before its blank line. It calls `onBytes` for every chunk, including heartbeat comments.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void = () => {},
): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder() // The decoder also removes a byte order mark.
  const reader = body.getReader()
  let rest = ''
  let data: string[] = []
  let id: string | undefined
  let retry: number | undefined
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      onBytes()
      // A CR at the end may be the first half of a CRLF.
      const lines = (rest + decoder.decode(value, { stream: true })).split(/\r\n|\n|\r(?!$)/)
      rest = lines.pop() ?? ''
      for (const line of lines) {
        if (line === '') {
          if (data.length > 0 || retry !== undefined) yield { data: data.join('\n'), id, retry }
          data = []
          id = retry = undefined
          continue
        }
        const colon = line.indexOf(':')
        const name = colon === -1 ? line : line.slice(0, colon)
        const field = colon === -1 ? '' : line.slice(colon + 1).replace(/^ /, '')
        if (name === 'data') data.push(field)
        else if (name === 'id' && !field.includes('\0')) id = field
        else if (name === 'retry' && /^\d{1,6}$/.test(field)) retry = Number(field)
      }
    }
  } finally {
    reader.cancel().catch(() => {})
  }
}
