/** One event of an event stream, whole: the blank line that ends it has come. */
export interface ServerEvent {
  /** What `data:` said; empty for an event that has none. */
  readonly data: string
  /** What `id:` said in this event, and not in one before. */
  readonly id: string | undefined
  /** The time that `retry:` named, in milliseconds. */
  readonly retry: number | undefined
}

/**
 * Reads an event stream as the WHATWG's section on server-sent events describes it. An event that is cut off before its
 * blank line is no event. `onBytes` hears of every chunk, heartbeat comments included.
 */
export async function* readEvents(
  body: ReadableStream<Uint8Array>,
  onBytes: () => void = () => {},
): AsyncGenerator<ServerEvent> {
  const decoder = new TextDecoder() // It also takes the byte order mark away.
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
      // A CR at the end may be half of a line's end.
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
