import { useCallback, useEffect, useState } from 'react'
import { type AccountProjects, type Project, readChosen, readProjects, saveChosen } from '../lib/projects'

/** ProjectChoice is the choice of the project of new conversations. */
export interface ProjectChoice {
  /** Empty while unknown, and for an account without projects. */
  readonly projects: readonly Project[]
  readonly chosen: Project | null
  readonly choose: (id: string | null) => void
}

interface Known extends AccountProjects {
  readonly chosenId: string | null
}

/** useProjects reads the projects of the account when the panel becomes usable, with the last choice of the account. */
export function useProjects(ready: boolean): ProjectChoice {
  const [known, setKnown] = useState<Known | null>(null)
  useEffect(() => {
    if (!ready) return
    let current = true
    const look = async () => {
      const found = await readProjects()
      const chosenId = await readChosen(found.accountId)
      if (current) setKnown({ ...found, chosenId })
    }
    // Without the list, questions are asked in no project.
    look().catch(() => {})
    return () => {
      current = false
      setKnown(null) // The next account has other projects.
    }
  }, [ready])
  const choose = useCallback(
    (id: string | null) => {
      if (known === null) return
      setKnown({ ...known, chosenId: id })
      void saveChosen(known.accountId, id)
    },
    [known],
  )
  const projects = known?.projects ?? []
  return { projects, chosen: projects.find(({ id }) => id === known?.chosenId) ?? null, choose }
}
