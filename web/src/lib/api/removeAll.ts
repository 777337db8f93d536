import { ApiError } from './errors'

/** The number of concurrent removals. */
const LINES = 4

/** How long removals wait when the server had too many calls and does not say how long, in milliseconds. */
const REST_MS = 10_000

/**
 * removeAll removes the items in `left`, `lines` at a time, and takes each out of it. While the server has too many
 * calls, it waits. An item that is gone already counts as removed. `onRemoved` is called after each item.
 */
export async function removeAll(
  left: Set<string>,
  remove: (id: string) => Promise<unknown>,
  { lines = LINES, onRemoved = (_count: number) => {} } = {},
): Promise<{ removed: readonly string[]; failed: readonly string[] }> {
  const removed: string[] = []
  const failed: string[] = []
  let rest: Promise<void> | undefined
  const line = async () => {
    // A Set iterator skips deleted elements and visits elements that are added during the iteration.
    for (const id of left) {
      left.delete(id)
      try {
        await remove(id)
      } catch (cause) {
        const { status, retryAfter = 0 } = cause instanceof ApiError ? cause : {}
        if (status === 429) {
          left.add(id)
          rest ??= new Promise((resolve) => setTimeout(resolve, retryAfter * 1000 || REST_MS))
          await rest
          rest = undefined
          continue
        }
        if (status !== 404) {
          failed.push(id)
          continue
        }
      }
      removed.push(id)
      onRemoved(removed.length)
      await rest
    }
  }
  await Promise.all(Array.from({ length: Math.min(lines, left.size) }, line))
  return { removed, failed }
}
