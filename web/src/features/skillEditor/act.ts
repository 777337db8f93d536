import { useRef, useState } from 'react'
import { ApiError, type MadeSkill } from '@/lib/api'
import * as made from '@/lib/api/madeSkills'
import { toastFailure } from '@/lib/ui/toast'
import { refreshSkills } from './queries'
import { texts } from './texts'

/** Runs one action at a time, then reads the lists anew; a failure is told, in a toast unless it has another place. */
export function useAct() {
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

/** Why an action failed: what is wrong with a field, if the server names one. */
export function reasonOf(cause: unknown): string {
  return cause instanceof ApiError ? (cause.fields[0]?.message ?? cause.message) : texts.failed
}

/** Copies a skill. After a failure the same copy is asked for again, so that there is one of it. */
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
