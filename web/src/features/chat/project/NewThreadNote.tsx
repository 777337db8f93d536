import { useAtomValue } from 'jotai'
import { Folder } from 'lucide-react'
import { Button } from '@/components/Button'
import { ChoiceChip } from '@/components/Chip'
import { focusComposer } from '@/lib/ui/composer'
import type { Conversation } from '../conversation/conversation'
import { texts } from '../texts'
import styles from './Project.module.css'

const words = texts.project.start

/** NewThreadNote shows the project of a new thread, and sets the visibility of the thread. */
export function NewThreadNote({ conversation }: { conversation: Conversation }) {
  const { thread, turns, project } = useAtomValue(conversation.stateAtom)
  if (project === null || thread !== null || turns.length > 0) return null
  const set = (next: typeof project | null) => {
    conversation.setProject(next)
    focusComposer()
  }
  return (
    <div className={styles.note}>
      <p>
        <Folder size={16} aria-hidden />
        <span>{words.title(project.name)}</span>
      </p>
      <div className={styles.chips} role="group" aria-label={words.readers}>
        {(['private', 'project'] as const).map((visibility) => (
          <ChoiceChip
            key={visibility}
            selected={project.visibility === visibility}
            onClick={() => set({ ...project, visibility })}
          >
            {words.visibility[visibility]}
          </ChoiceChip>
        ))}
      </div>
      <Button size="sm" variant="quiet" onClick={() => set(null)}>
        {words.leave}
      </Button>
    </div>
  )
}
