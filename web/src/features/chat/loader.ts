import type { LoaderFunctionArgs } from 'react-router'
import { api, type Skill } from '@/lib/api'
import { queryClient, skillQuery } from '@/lib/api/queries'
import { preloadMarkdown } from '@/lib/markdown'
import type { Conversation } from './conversation'
import { expectThread, findConversation, openConversation, reopen } from './conversations'
import { formPart } from './formPart'
import { MESSAGE_PAGE } from './history'
import { proofreadPart } from './proofreadPart'

/** What the pages of a skill are given. */
export interface SkillData {
  readonly skill: Skill
  /** The thread in the address; null on the skill's own page. */
  readonly conversation: Conversation | null
}

/**
 * Loads the skill and, where the address names a thread, that and its newest messages. A thread that this tab has
 * shown before, or has just begun, is there at once and is brought up to date behind the screen.
 */
export async function skillLoader({ params }: LoaderFunctionArgs): Promise<SkillData> {
  const { skillId, threadId } = params as { skillId: string; threadId?: string }
  const skill = queryClient.fetchQuery(skillQuery(skillId))
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

  expectThread(threadId)
  const known = findConversation(threadId)
  if (known?.shown) {
    reopen(known)
    return { skill: await skill, conversation: known }
  }
  const [thread, page] = await Promise.all([
    api.getThread(threadId),
    api.listMessages(threadId, { offset: 0, limit: MESSAGE_PAGE }),
    // Without it messages are shown plain at first: worth waiting for, not worth failing for.
    preloadMarkdown().catch(() => {}),
    proofreading().catch(() => {}),
  ])
  const conversation = openConversation(skillId, thread)
  conversation.load(thread, page)
  if (page.length === 0) await form()
  return { skill: await skill, conversation }
}
