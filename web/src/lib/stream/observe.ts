/**
 * observeBytes returns a `fetch` that reports every chunk of a response's body as it is read. The event-stream parser
 * skips heartbeat comments silently; observeBytes detects them.
 */
export function observeBytes(inner: typeof fetch, onBytes: () => void): typeof fetch {
  return async (input, init) => {
    const response = await inner(input, init)
    onBytes()
    if (!response.ok || response.body === null) return response
    const observer = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        onBytes()
        controller.enqueue(chunk)
      },
    })
    return new Response(response.body.pipeThrough(observer), response)
  }
}
