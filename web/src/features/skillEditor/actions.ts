import { useRef, useState } from 'react'
import { ApiError, type MadeSkill } from '@/lib/api'
import * as made from '@/lib/api/madeSkills'
import { toastFailure } from '@/lib/ui/toast'
import { refreshSkills } from './queries'
import { texts } from './texts'

/**
 * useAction runs one action at a time and then refreshes the lists. It passes the reason of a failure to `tell`, by
 * default a toast.
 */
export function useAction() {
  const [busy, setBusy] = useState(false)
  const act = async (action: () => Promise<unknown>, tell: (message: string) => void = toastFailure) => {
    if (busy) return
    setBusy(true)
    try {
      await action()
      refreshSkills()
    } catch (cause) {
      tell(reasonOf(cause))
    } finally {
      setBusy(false)
    }
  }
  return { busy, act }
}

/** reasonOf returns the reason of a failed action, preferably the server's error for a field. */
export function reasonOf(cause: unknown): string {
  return cause instanceof ApiError ? (cause.fields[0]?.message ?? cause.message) : texts.failed
}

/** useCopy copies a skill. A retry after a failure sends the same request id, so that only one copy is created. */
export function useCopy(skillId: string) {
  const requests = useRef(new Map<string, string>())
  return async (audience: 'self' | 'organization'): Promise<MadeSkill> => {
    const request_id = requests.current.get(audience) ?? crypto.randomUUID()
    requests.current.set(audience, request_id)
    const copy = await made.copySkill(skillId, { request_id, audience })
    requests.current.delete(audience)
    return copy
  }
}
