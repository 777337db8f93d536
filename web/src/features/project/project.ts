import { useOutletContext } from 'react-router'
import type { Project } from '@/lib/api'

/** useProject returns the project whose page is shown. */
export const useProject = () => useOutletContext<Project>()

/** mayEdit reports whether the user may add files and edit the instructions. */
export function mayEdit({ role, archived }: Project): boolean {
  return (role === 'editor' || role === 'manager') && !archived
}
