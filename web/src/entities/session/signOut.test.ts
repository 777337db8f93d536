import { afterEach, expect, it, vi } from 'vitest'
import { api } from '@/lib/api'
import { readKept, writeKept } from '@/lib/browser/kept'
import { session } from './session'
import { signOutEverywhere } from './signOut'

afterEach(() => vi.restoreAllMocks())

it('removes the data in this browser even if the server is unreachable', async () => {
  vi.spyOn(api, 'signOut').mockRejectedValue(new Error('offline'))
  const leave = vi.spyOn(session, 'leave').mockImplementation(async (tell) => void (await tell()))
  writeKept('draft:thread:t', '書きかけ')
  await signOutEverywhere()
  expect(leave).toHaveBeenCalledOnce()
  expect(readKept('draft:thread:t')).toBe('')
})
