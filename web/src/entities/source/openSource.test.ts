import { expect, it } from 'vitest'
import { viewerStateOf } from './openSource'

it('has no citations if the history entry has none', () => {
  expect(viewerStateOf(null)).toEqual({ citations: [], pushed: false })
  expect(viewerStateOf({ asked: true })).toEqual({ citations: [], pushed: false })
})
