import { useRef } from 'react'
import { call, firstErrorMessage, type MadeSkill } from '@/lib/api'
import { useTask } from '@/lib/ui/task'
import { toastFailure } from '@/lib/ui/toast'
import { refreshSkills } from './queries'
import { texts } from './texts'

/**
 * useAction runs one action at a time and then refreshes the lists, which a failure can show to be outdated. It passes the
 * reason of a failure to `tell`, by default a toast.
 */
export function useAction() {
  const { busy, run } = useTask()
  const act = (action: () => Promise<unknown>, tell: (message: string) => void = toastFailure) =>
    run(
      async () => {
        await action()
        refreshSkills()
      },
      (cause) => {
        tell(firstErrorMessage(cause, texts.failed))
        refreshSkills()
      },
    )
  return { busy, act }
}

/** useCopy copies a skill. A retry after a failure sends the same request id, so that only one copy is created. */
export function useCopy(skillId: string) {
  const requests = useRef(new Map<string, string>())
  return async (audience: 'self' | 'organization'): Promise<MadeSkill> => {
    const request_id = requests.current.get(audience) ?? crypto.randomUUID()
    requests.current.set(audience, request_id)
    const copy = await call('copySkill', { skill_id: skillId, body: { request_id, audience } })
    requests.current.delete(audience)
    return copy
  }
}
