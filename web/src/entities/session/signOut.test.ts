import { expect, it, vi } from 'vitest'
import { answerCalls } from '@/lib/api/testing'
import { readStoredText, writeStoredText } from '@/lib/browser/storedTexts'
import { session } from './session'
import { signOutEverywhere } from './signOut'

it('removes the data in this browser even if the server is unreachable', async () => {
  answerCalls({ signOut: () => Promise.reject(new Error('offline')) })
  const leave = vi.spyOn(session, 'leave').mockImplementation(async (tell) => void (await tell()))
  writeStoredText('draft:thread:t', '書きかけ')
  await signOutEverywhere()
  expect(leave).toHaveBeenCalledOnce()
  expect(readStoredText('draft:thread:t')).toBe('')
})
