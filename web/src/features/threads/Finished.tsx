import { useEffect } from 'react'
import { useNavigate } from 'react-router'
import { findThread, isOthers, isThreadShown, threadDeletions } from '@/entities/thread/threads'
import { type LiveMessage, live } from '@/lib/live'
import { shorten } from '@/lib/ui/shorten'
import { toast } from '@/lib/ui/toast'
import { texts } from './texts'

/** Shows a toast when an answer has ended in a thread that is not on the screen. Renders nothing. */
export function Finished() {
  const navigate = useNavigate()
  useEffect(() => {
    const told = new Set<string>()
    return live.on('message', ({ message }) => {
      if (message === undefined || isOthers(message.thread_id)) return
      const { id, thread_id, status } = message
      // A rated answer has ended before, even if the rating is withdrawn.
      if (message.feedback) told.add(id)
      if (!hasEnded(message)) return
      if (document.visibilityState === 'hidden' || isThreadShown(thread_id)) return
      if (told.has(id) || threadDeletions.has(thread_id)) return
      told.add(id)
      const failed = status === 'failed'
      const name = shorten(findThread(thread_id)?.title || texts.untitled, 24)
      toast(failed ? texts.failed(name) : texts.finished(name), {
        tone: failed ? 'danger' : 'plain',
        threadId: thread_id,
        action: { label: texts.open, run: () => void navigate(`/chat/${thread_id}`) },
      })
    })
  }, [navigate])

  return null
}

/** Whether this event means that an answer has ended by itself; a rated one has ended before. */
export function hasEnded({ role, status, finish_reason, feedback }: LiveMessage): boolean {
  if (role !== 'assistant' || finish_reason === 'stopped' || feedback) return false
  return status === 'success' || status === 'failed'
}
