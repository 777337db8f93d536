import { type LinkProps, useLocation } from 'react-router'
import { focusComposer } from '@/lib/ui/composer'

const beginsChat = { newChat: true }

/** useNewChat returns a link that begins a chat: with the skill in the URL, or without one on the page of skills. */
export function useNewChat(): Pick<LinkProps, 'state' | 'onClick'> & { to: string } {
  const { pathname } = useLocation()
  const [, skillId] = /^\/home\/skill\/([0-9a-f-]{36})(?:\/|$)/.exec(pathname) ?? []
  const to = skillId === undefined ? '/home/skill' : `/home/skill/${skillId}`
  return { to, state: beginsChat, onClick: focusComposer }
}

/** useBeginsChat reports whether the page was opened to begin a chat. */
export function useBeginsChat(): boolean {
  return useLocation().state?.newChat === true
}

/** NewThreadProject is the project of a new thread, with the visibility of the thread. */
export interface NewThreadProject {
  readonly id: string
  readonly name: string
  readonly visibility: 'private' | 'project'
}

/** inProject returns the navigation state that begins a thread in a project on the page of a skill. */
export function inProject(project: NewThreadProject): { project: NewThreadProject } {
  return { project }
}

/** newThreadProject returns the project in a navigation state, or null. */
export function newThreadProject(state: unknown): NewThreadProject | null {
  return (state as { project?: NewThreadProject } | null)?.project ?? null
}
