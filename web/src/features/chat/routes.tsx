import { useAtomValue } from 'jotai'
import { useEffect, useRef, useState } from 'react'
import { type Location, useLocation, useNavigate, useRouteLoaderData } from 'react-router'
import { PageTitle } from '@/components/PageTitle'
import { askedSources } from '@/entities/source/askSources'
import { newThreadProject } from '@/entities/thread/newChat'
import { useThreads } from '@/entities/thread/threads'
import type { Skill } from '@/lib/api'
import { toast } from '@/lib/ui/toast'
import type { Conversation } from './conversation/conversation'
import { begin, newConversation, show } from './conversations'
import { attach } from './draft/attachments'
import { draftKey, moveDraftToSkill } from './draft/drafts'
import type { SkillData } from './loader'
import { Chat } from './screen/Chat'
import { texts } from './texts'

export { preloadMarkdown } from '@/lib/markdown'
export { linkLoader, skillLoader } from './loader'

function useSkillData(): SkillData {
  const data = useRouteLoaderData<SkillData>('skill')
  if (data === undefined) throw new Error('the route "skill" has no data')
  return data
}

/**
 * ConversationPage shows a thread with its composer or, on the page of a skill, the composer or form that begins one.
 * It is the page of both, so that open dialogs and the focus stay when the first question leads to the new thread.
 */
export function ConversationPage() {
  const { skill, conversation: opened } = useSkillData()
  const { conversation, key } = useConversation(skill.id, opened)
  const title = useThreadTitle(conversation)
  const location = useLocation()
  useAskedSources(skill, location)
  useNewThreadProject(conversation, location)
  const Follow = opened === null ? FollowNew : FollowOpened
  return (
    <>
      <PageTitle>{opened === null ? skill.name : title}</PageTitle>
      <Follow key={key} skill={skill} conversation={conversation} />
      <Chat key={key} skill={skill} conversation={conversation} title={title} />
    </>
  )
}

/**
 * useConversation returns the conversation of the thread in the URL or, if there is none, a new one of the skill, with
 * a key. The conversation stays the same when its new thread is opened.
 */
function useConversation(skillId: string, opened: Conversation | null) {
  const choose = () => ({
    skillId,
    opened,
    conversation: opened ?? newConversation(skillId),
    key: crypto.randomUUID() as string,
  })
  const [current, setCurrent] = useState(choose)
  if (current.skillId === skillId && current.opened === opened) return current
  const next = choose()
  if (next.conversation === current.conversation) next.key = current.key
  setCurrent(next)
  return next
}

function useThreadTitle({ stateAtom }: Conversation): string {
  const { thread } = useAtomValue(stateAtom)
  const { items } = useThreads()
  const known = items.find((item) => item.id === thread?.id)?.title ?? thread?.title
  return known || (thread?.expires_at ? texts.temporary.title : texts.untitled)
}

interface FollowProps {
  readonly skill: Skill
  readonly conversation: Conversation
}

/** FollowNew opens the thread of a new conversation once it exists. */
function FollowNew({ skill, conversation }: FollowProps) {
  const navigate = useNavigate()
  const { thread } = useAtomValue(conversation.stateAtom)
  const left = useRef(false)
  // If the question was asked on another page, going back must skip this page.
  const passed = useLocation().state?.asked === true

  useEffect(() => {
    begin(skill.id)
    // A deleted thread must not be opened again.
    if (thread !== null) void navigate(`/home/skill/${skill.id}/chat/${thread.id}`, { replace: passed })
    else if (left.current) void navigate(`/home/skill/${skill.id}`, { replace: true })
    left.current = thread !== null
  }, [thread, navigate, skill.id, passed])
  return null
}

/** FollowOpened keeps an opened thread up to date, and leaves it when it is deleted. */
function FollowOpened({ skill, conversation }: FollowProps) {
  const navigate = useNavigate()
  const { thread, gone } = useAtomValue(conversation.stateAtom)
  const unused = thread === null

  useEffect(() => show(conversation), [conversation])
  useEffect(() => {
    if (unused) void navigate(`/home/skill/${skill.id}`, { replace: true })
  }, [unused, navigate, skill.id])
  useEffect(() => {
    if (!gone) return
    moveDraftToSkill(skill.id, thread?.id)
    toast(texts.gone)
    void navigate(`/home/skill/${skill.id}`, { replace: true })
  }, [gone, navigate, skill.id, thread?.id])
  return null
}

/** useNewThreadProject begins the new thread in the project from the navigation state. */
function useNewThreadProject(conversation: Conversation, { state }: Location): void {
  const project = newThreadProject(state)
  useEffect(() => {
    if (project !== null) conversation.setProject(project)
  }, [conversation, project])
}

/** useAskedSources adds the data sources from the navigation state to the composer once, but not again on a reload. */
function useAskedSources(skill: Skill, { state }: Location): void {
  const navigate = useNavigate()
  useEffect(() => {
    const ids = askedSources(state)
    if (ids.length === 0) return
    if (skill.accepts_data_sources) attach(draftKey(skill.id, undefined), ids)
    void navigate('.', { replace: true, state: null })
  }, [skill, state, navigate])
}
