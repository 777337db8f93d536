/** A page of a list: the number of items to skip, and the maximum number to return. */
export interface Page {
  offset: number
  limit: number
}

/** The items of a page. */
export interface Items<T> {
  items: T[]
}

/** A page of a list with its total length. */
export interface Counted<T> extends Items<T> {
  /** The total number. */
  total: number
}

/** All items of a list, a hundred at a time. */
export async function listAll<T>(list: (page: Page) => Promise<Items<T>>): Promise<T[]> {
  const limit = 100
  const all: T[] = []
  for (;;) {
    const { items } = await list({ offset: all.length, limit })
    all.push(...items)
    if (items.length < limit) return all
  }
}
