/**
 * observeBytes returns a `fetch` that reports every chunk of a response's body as it is read. The event-stream parser
 * skips heartbeat comments silently; observeBytes detects them.
 */
export function observeBytes(inner: typeof fetch, onBytes: () => void): typeof fetch {
  return async (input, init) => {
    const response = await inner(input, init)
    onBytes()
    if (!response.ok || response.body === null) return response
    const reader = response.body.getReader()
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await reader.read()
        if (done) {
          controller.close()
          return
        }
        onBytes()
        controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    })
    return new Response(body, {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    })
  }
}
