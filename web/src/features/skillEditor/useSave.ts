import { useState } from 'react'
import { flushSync } from 'react-dom'
import { useNavigate } from 'react-router'
import { ApiError, call, type MadeSkill } from '@/lib/api'
import { useRequestId } from '@/lib/api/useRequestId'
import { toast } from '@/lib/ui/toast'
import type { Draft } from './content'
import { refreshSkills } from './queries'
import { texts } from './texts'

/** useSave saves a draft with one request id per content, and focuses the first invalid field. */
export function useSave(
  draft: Draft,
  saved: MadeSkill | null,
  settle: (sent: Draft, id: string, version: number) => void,
  form: { current: HTMLFormElement | null },
) {
  const navigate = useNavigate()
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<ApiError | null>(null)
  const requestId = useRequestId()
  const save = async () => {
    const body = {
      audience: draft.audience,
      member_ids: draft.members.map(({ id }) => id),
      group_ids: draft.groups.map(({ id }) => id),
      content: draft.content,
    }
    setBusy(true)
    setFailure(null)
    try {
      const saving = { ...body, request_id: requestId(body) }
      const done = saved
        ? await call('changeSkill', { skill_id: saved.id, body: { ...saving, version: draft.version } })
        : await call('createSkill', { body: saving })
      settle(draft, done.id, done.version)
      refreshSkills()
      toast(texts.editor.saved, { tone: 'success' })
      // Flushed, so that nothing is entered into the page of the new skill any more.
      if (!saved) void navigate(`/home/skill/${done.id}/edit`, { replace: true, flushSync: true })
    } catch (cause) {
      // Flushed, so that the invalid fields are marked before one of them gets the focus.
      flushSync(() =>
        setFailure(cause instanceof ApiError ? cause : new ApiError(0, { detail: texts.failed })),
      )
      form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
      // Another session saved the skill since; Newer reports the new version.
      if (cause instanceof ApiError && cause.status === 409 && cause.fields.length === 0) refreshSkills()
    } finally {
      setBusy(false)
    }
  }
  return { save, busy, failure }
}
