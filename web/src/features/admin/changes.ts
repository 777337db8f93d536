/** changesOf returns the fields of next that differ from before: others may have changed the rest meanwhile. */
export function changesOf<T extends object>(
  before: { readonly [K in keyof T]?: unknown },
  next: T,
): Partial<T> {
  const changed = Object.entries(next).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name as keyof T]),
  )
  return Object.fromEntries(changed) as Partial<T>
}
