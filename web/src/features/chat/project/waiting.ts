import { atom, type PrimitiveAtom } from 'jotai'
import { call, type Message } from '@/lib/api'
import { store } from '@/lib/ui/store'
import type { Queued } from '../draft/queue'

type Waiting = readonly Message[]

const lists = new Map<string, PrimitiveAtom<Waiting>>()

/** waitingAtom returns the questions that wait in a shared thread, as last loaded with its messages. */
export function waitingAtom(threadId: string): PrimitiveAtom<Waiting> {
  const known = lists.get(threadId)
  if (known !== undefined) return known
  const made = atom<Waiting>([])
  lists.set(threadId, made)
  return made
}

/** setWaiting stores the questions that wait in a thread. */
export function setWaiting(threadId: string, questions: Waiting = []): void {
  if (questions.length > 0 || lists.has(threadId)) store.set(waitingAtom(threadId), questions)
}

/** askInTurn asks a question in a shared thread whose answer is running. It is answered when its turn comes. */
export async function askInTurn(
  threadId: string,
  { id, content, sources, pictures, modelSelection }: Queued,
): Promise<void> {
  await call('askMessage', {
    body: {
      request_id: id,
      thread_id: threadId,
      content,
      ...(sources && { data_source_ids: [...sources] }),
      ...(pictures && { picture_ids: pictures.map(({ id }) => id) }),
      ...modelSelection,
    },
  })
}

/** cancelWaiting removes one of the user's waiting questions. */
export async function cancelWaiting(threadId: string, id: string): Promise<void> {
  await call('cancelWaitingQuestion', { message_id: id })
  setWaiting(
    threadId,
    store.get(waitingAtom(threadId)).filter((question) => question.id !== id),
  )
}
