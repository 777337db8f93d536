import { describe, expect, it } from 'vitest'
import { placeOf, searchWith } from './sourcePlace'

describe('the place in a data source', () => {
  it.each([
    [{ dataSourceId: 'a' }, '?q=b&source=a'],
    [{ dataSourceId: 'a', page: 3 }, '?q=b&source=a&page=3'],
    [{ dataSourceId: 'a', chunkId: 'c' }, '?q=b&source=a&passage=c'],
    [{ dataSourceId: 'a', chunkId: 'c', page: 4 }, '?q=b&source=a&passage=c&page=4'],
  ])('%o is in the URL: %s', (place, search) => {
    expect(searchWith('?source=old&passage=old&page=9&q=b', place)).toBe(search)
    expect(placeOf(new URLSearchParams(search))).toEqual({ chunkId: undefined, page: undefined, ...place })
  })

  it('is removed without changing the other parameters of the URL', () => {
    expect(searchWith('?source=a&passage=c&page=1', null)).toBe('')
    expect(searchWith('?q=b&source=a', null)).toBe('?q=b')
  })

  it.each(['', '?page=3', '?source=', '?passage=c'])('is not named by %s', (search) => {
    expect(placeOf(new URLSearchParams(search))).toBeNull()
  })

  it.each(['0', '-1', '1.5', 'a'])('has no page %s', (page) => {
    expect(placeOf(new URLSearchParams(`source=a&page=${page}`))?.page).toBeUndefined()
  })
})
