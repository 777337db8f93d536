import { useAtomValue } from 'jotai'
import { useEffect, useRef, useState } from 'react'
import { type Location, useLocation, useNavigate, useRouteLoaderData } from 'react-router'
import { PageTitle } from '@/components/PageTitle'
import { askedSources } from '@/entities/source/askSources'
import { useThreads } from '@/entities/thread/threads'
import type { Skill } from '@/lib/api'
import { toast } from '@/lib/ui/toast'
import { attach } from './attachments'
import { Chat } from './Chat'
import type { Conversation } from './conversation'
import { begin, newConversation, show } from './conversations'
import { draftKey, moveDraft } from './drafts'
import type { SkillData } from './loader'
import { texts } from './texts'

export { preloadMarkdown } from '@/lib/markdown'
export { skillLoader } from './loader'

function useSkillData(): SkillData {
  const data = useRouteLoaderData<SkillData>('skill')
  if (data === undefined) throw new Error('the route "skill" has no data')
  return data
}

/** A skill: its name, what it is for, and the composer or form that begins a thread. */
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
  // Asked on another page: the way back leads there, not to this page, which was only passed.
  const passed = location.state?.asked === true
  useAskedSources(skill, location)

  useEffect(() => {
    begin(skill.id)
    // A thread that has been given up is not to be opened any more.
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

/** Puts the data sources into the composer that the page was opened with, once: not again when it is reloaded. */
function useAskedSources(skill: Skill, { state }: Location): void {
  const navigate = useNavigate()
  useEffect(() => {
    const ids = askedSources(state)
    if (ids.length === 0) return
    if (skill.accepts_data_sources) attach(draftKey(skill.id, undefined), ids)
    void navigate('.', { replace: true, state: null })
  }, [skill, state, navigate])
}

/** A thread: what was asked and answered, and the composer. */
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
    moveDraft(skill.id, thread?.id)
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
