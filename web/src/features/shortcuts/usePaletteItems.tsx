import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { useSetAtom } from 'jotai'
import { ArrowRight, MessageSquare } from 'lucide-react'
import type { ReactNode } from 'react'
import { useNavigate } from 'react-router'
import { SkillIcon } from '@/components/SkillIcon'
import { readToken } from '@/entities/identity/token'
import { isAdmin } from '@/entities/session/guard'
import { signOutEverywhere } from '@/entities/session/signOut'
import { findSkills } from '@/entities/skill/findSkills'
import { threadPath, useThreadSearch } from '@/entities/thread/foundThreads'
import { useThreads } from '@/entities/thread/threads'
import type { ThreadMatch } from '@/lib/api'
import { meQuery, skillsQuery } from '@/lib/api/queries'
import { formatDate } from '@/lib/ui/dates'
import { matches } from '@/lib/ui/match'
import { shortcutsOpenAtom } from '@/lib/ui/overlays'
import { setTheme } from '@/lib/ui/theme'
import { texts } from './texts'

/** PaletteItem is an item of the palette. */
export interface PaletteItem {
  id: string
  group: string
  label: string
  /** The place of the match in a thread. */
  found?: ThreadMatch
  note?: string
  icon: ReactNode
  run: () => void
}

const MOST = 6

/**
 * usePaletteItems returns the threads, skills and actions that match a query. For an empty query, it returns the latest
 * ones. `asking` is true while more items may follow.
 */
export function usePaletteItems(query: string): { items: PaletteItem[]; asking: boolean } {
  const navigate = useNavigate()
  const latest = useThreads().items
  const search = useThreadSearch(query)
  const threads = query.trim() === '' ? latest : search.items
  const skills = useQuery(skillsQuery).data ?? []
  const actions = useActions()
  const open = (path: string) => () => void navigate(path)

  const items = [
    ...threads.slice(0, MOST).map((thread) => ({
      id: `thread-${thread.id}`,
      group: texts.threads,
      label: thread.title || texts.untitled,
      ...(thread.match?.message_id && { found: thread.match }),
      note: formatDate(thread.touched_at),
      icon: <MessageSquare size={18} aria-hidden />,
      run: open(threadPath(thread)),
    })),
    ...findSkills(skills, query)
      .slice(0, MOST)
      .map((skill) => ({
        id: `skill-${skill.id}`,
        group: texts.skills,
        label: skill.name,
        icon: <SkillIcon path={skill.icon_path} size={20} />,
        run: open(`/home/skill/${skill.id}`),
      })),
    ...actions.filter((action) => matches(query, action.label)),
  ]
  return { items, asking: search.asking }
}

function useActions(): PaletteItem[] {
  const { data: me } = useSuspenseQuery(meQuery)
  const navigate = useNavigate()
  const openShortcuts = useSetAtom(shortcutsOpenAtom)
  const action = (id: string, label: string, run: () => void): PaletteItem => ({
    id: `action-${id}`,
    group: texts.actions,
    label,
    icon: <ArrowRight size={18} aria-hidden />,
    run,
  })
  return [
    action('home', texts.do.home, () => void navigate('/home/skill')),
    action('sources', texts.do.sources, () => void navigate('/home/data-source')),
    action('projects', texts.do.projects, () => void navigate('/home/project')),
    ...(isAdmin(me.role) ? [action('admin', texts.do.admin, () => void navigate('/admin/contract'))] : []),
    ...(readToken()?.authType === 'cognito'
      ? [action('settings', texts.do.settings, () => void navigate('/setting/change-password'))]
      : []),
    action('light', texts.do.light, () => setTheme('light')),
    action('dark', texts.do.dark, () => setTheme('dark')),
    action('system', texts.do.system, () => setTheme('system')),
    action('shortcuts', texts.do.shortcuts, () => openShortcuts(true)),
    action('signout', texts.do.signOut, () => void signOutEverywhere()),
  ]
}
