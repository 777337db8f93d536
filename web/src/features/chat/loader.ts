import { type LoaderFunctionArgs, redirect } from 'react-router'
import { ApiError, call, type Skill, type Thread } from '@/lib/api'
import { queryClient, skillQuery } from '@/lib/api/queries'
import { preloadMarkdown } from '@/lib/markdown'
import type { Conversation } from './conversation/conversation'
import { MESSAGE_PAGE } from './conversation/history'
import { expectThread, findConversation, openConversation, reopen } from './conversations'
import { setWaiting } from './project/waiting'
import { proofreadPart } from './proofread/proofreadPart'
import { formPart } from './start/formPart'

/** SkillData is the loader data of a skill's pages. */
export interface SkillData {
  readonly skill: Skill
  /** The conversation of the thread in the URL; null on the skill's own page. */
  readonly conversation: Conversation | null
}

/** The thread that a link has loaded for the page that it redirects to. */
let linked: Thread | undefined

/** linkLoader redirects a link to a thread to its page. */
export async function linkLoader({ params, request }: LoaderFunctionArgs): Promise<Response> {
  const thread_id = params.threadId as string
  linked = await call('getThread', { thread_id, signal: request.signal })
  return redirect(`/home/skill/${linked.skill.id}/chat/${linked.id}`)
}

/**
 * skillLoader loads the skill and, if the URL names a thread, the thread with its newest messages. If this tab has the
 * thread, it is shown at once and updated in the background.
 */
export async function skillLoader({ params }: LoaderFunctionArgs): Promise<SkillData> {
  const { skillId, threadId } = params as { skillId: string; threadId?: string }
  const skill = queryClient.fetchQuery(skillQuery(skillId)).catch((cause: unknown) => {
    // Without a network, threads that this tab has are still shown.
    const known = queryClient.getQueryData(skillQuery(skillId).queryKey)
    if (known !== undefined && cause instanceof ApiError && cause.offline) return known
    throw cause
  })
  const form = async () => {
    if ((await skill).form_type === 'form') await formPart.load()
  }
  const proofreading = async () => {
    if ((await skill).kind === 'proofreading_v2') await proofreadPart.load()
  }
  if (threadId === undefined) {
    await form()
    return { skill: await skill, conversation: null }
  }

  const loaded = linked?.id === threadId ? linked : undefined
  linked = undefined
  expectThread(threadId)
  const known = findConversation(threadId)
  if (known?.shown) {
    reopen(known)
    return { skill: await skill, conversation: known }
  }
  const [thread, { items: page, queue }] = await Promise.all([
    loaded ?? call('getThread', { thread_id: threadId }),
    call('listMessages', { thread_id: threadId, offset: 0, limit: MESSAGE_PAGE }),
    // Without the renderer, messages are plain text at first. Wait for it, but do not fail.
    preloadMarkdown().catch(() => {}),
    proofreading().catch(() => {}),
  ])
  setWaiting(threadId, queue)
  const conversation = openConversation(skillId, thread)
  conversation.load(thread, page)
  if (page.length === 0) await form()
  return { skill: await skill, conversation }
}
