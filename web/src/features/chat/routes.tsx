import { useAtomValue } from 'jotai'
import { useEffect, useRef, useState } from 'react'
import { type Location, useLocation, useNavigate, useRouteLoaderData } from 'react-router'
import { PageTitle } from '@/components/PageTitle'
import { askedSources } from '@/entities/source/askSources'
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
export { skillLoader } from './loader'

function useSkillData(): SkillData {
  const data = useRouteLoaderData<SkillData>('skill')
  if (data === undefined) throw new Error('the route "skill" has no data')
  return data
}

/** SkillPage shows a skill: its name, its description, and the composer or form that begins a thread. */
export function SkillPage() {
  const { skill } = useSkillData()
  return <NewChat key={skill.id} />
}

function NewChat() {
  const { skill } = useSkillData()
  const navigate = useNavigate()
  const [conversation] = useState(() => newConversation(skill.id))
  const { thread } = useAtomValue(conversation.stateAtom)
  const left = useRef(false)
  const location = useLocation()
  // If the question was asked on another page, going back must skip this page.
  const passed = location.state?.asked === true
  useAskedSources(skill, location)

  useEffect(() => {
    begin(skill.id)
    // A deleted thread must not be opened again.
    if (thread !== null) void navigate(`/home/skill/${skill.id}/chat/${thread.id}`, { replace: passed })
    else if (left.current) void navigate(`/home/skill/${skill.id}`, { replace: true })
    left.current = thread !== null
  }, [thread, navigate, skill.id, passed])

  return (
    <>
      <PageTitle>{skill.name}</PageTitle>
      <Chat skill={skill} conversation={conversation} />
    </>
  )
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

/** ChatPage shows a thread and the composer. */
export function ChatPage() {
  const { skill, conversation } = useSkillData()
  return conversation && <OpenChat skill={skill} conversation={conversation} />
}

function OpenChat({ skill, conversation }: { skill: Skill; conversation: Conversation }) {
  const { thread, gone } = useAtomValue(conversation.stateAtom)
  const navigate = useNavigate()
  const { items } = useThreads()

  useEffect(() => show(conversation), [conversation])
  const unused = thread === null
  useEffect(() => {
    if (unused) void navigate(`/home/skill/${skill.id}`, { replace: true })
  }, [unused, navigate, skill.id])
  useEffect(() => {
    if (!gone) return
    moveDraftToSkill(skill.id, thread?.id)
    toast(texts.gone)
    void navigate(`/home/skill/${skill.id}`, { replace: true })
  }, [gone, navigate, skill.id, thread?.id])

  const known = items.find((item) => item.id === thread?.id)?.title ?? thread?.title
  const title = known || (thread?.expires_at ? texts.temporary.title : texts.untitled)
  return (
    <>
      <PageTitle>{title}</PageTitle>
      <Chat key={thread?.id} skill={skill} conversation={conversation} title={title} />
    </>
  )
}
