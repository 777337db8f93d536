import { createContext, useContext } from 'react'
import type { Project } from '@/lib/api'

/** The project whose page is shown. */
export const ProjectContext = createContext<Project | null>(null)

/** useProject returns the project whose page is shown. */
export function useProject(): Project {
  const project = useContext(ProjectContext)
  if (project === null) throw new Error('there is no project')
  return project
}

/** mayEdit reports whether the user may add files and edit the instructions. */
export function mayEdit({ role, archived }: Project): boolean {
  return (role === 'editor' || role === 'manager') && !archived
}
