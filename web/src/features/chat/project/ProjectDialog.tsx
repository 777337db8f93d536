import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { type Choosable, Chooser } from '@/components/Chooser'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { PROJECTS, refreshProjects } from '@/entities/project/projects'
import { shareOfQuery } from '@/entities/share/shares'
import { upsertThread } from '@/entities/thread/threads'
import { call, firstErrorMessage, type Thread } from '@/lib/api'
import { listQuery } from '@/lib/api/lists'
import { useTask } from '@/lib/ui/task'
import { toast, toastFailure } from '@/lib/ui/toast'
import type { Conversation } from '../conversation/conversation'
import { texts } from '../texts'
import styles from './Project.module.css'

const words = texts.project.move

/** choicesQuery searches the projects that a thread can be moved into. */
function choicesQuery(search: string) {
  return {
    ...listQuery<Choosable>([...PROJECTS, 'choices', search], 20, (page, signal) =>
      call('listProjects', { state: 'active', ...(search && { search }), ...page, signal }),
    ),
    staleTime: 0,
  }
}

/** ProjectDialog moves a thread into a project or out of it, and shows who will see what of it. */
export function ProjectDialog({
  conversation,
  thread,
  onClose,
}: {
  conversation: Conversation
  thread: Thread
  onClose: () => void
}) {
  const [project, setProject] = useState<Choosable | undefined>(thread.project)
  const [visibility, setVisibility] = useState(thread.visibility ?? 'private')
  const { busy, run } = useTask()
  const save = () =>
    run(
      async () => {
        const moved = await call('moveThread', {
          thread_id: thread.id,
          body:
            project === undefined
              ? { project_id: null, visibility: 'private' }
              : { project_id: project.id, visibility },
        })
        upsertThread(moved)
        conversation.handleThread(moved)
        void refreshProjects()
        toast(words.saved, { tone: 'success' })
        onClose()
      },
      (cause) => toastFailure(words.failed(firstErrorMessage(cause))),
    )
  return (
    <ConfirmDialog
      title={words.title}
      confirm={words.save}
      busy={busy}
      onConfirm={() => void save()}
      onClose={onClose}
    >
      <div className={styles.fields}>
        <Chooser
          words={words.choose}
          query={choicesQuery}
          chosen={project ? [project] : []}
          onChange={(chosen) => setProject(chosen.at(-1))}
        />
        {project === undefined ? (
          <p className={styles.audience}>{words.outside}</p>
        ) : (
          <>
            <fieldset className={styles.readers}>
              <legend>{texts.project.start.readers}</legend>
              {(['private', 'project'] as const).map((one) => (
                <label key={one}>
                  <input
                    type="radio"
                    name="visibility"
                    checked={visibility === one}
                    onChange={() => setVisibility(one)}
                  />
                  {texts.project.start.visibility[one]}
                </label>
              ))}
            </fieldset>
            {visibility === 'project' && <Audience threadId={thread.id} projectId={project.id} />}
          </>
        )}
      </div>
    </ConfirmDialog>
  )
}

function Audience({ threadId, projectId }: { threadId: string; projectId: string }) {
  const { data, isError } = useQuery({
    queryKey: [...PROJECTS, 'audience', threadId, projectId],
    queryFn: ({ signal }) =>
      call('getThreadAudience', { thread_id: threadId, project_id: projectId, signal }),
    staleTime: 0,
  })
  const { data: share } = useQuery(shareOfQuery(threadId))
  if (data === undefined)
    return <p className={styles.audience}>{isError ? words.audienceFailed : words.loading}</p>
  return (
    <div className={styles.audience}>
      <p role="status">{words.audience(data.member_count, data.questions)}</p>
      {share && <p>{words.link}</p>}
      {data.files.length > 0 && (
        <>
          <p>{words.files}</p>
          <ul>
            {data.files.map((name) => (
              <li key={name}>{name}</li>
            ))}
          </ul>
        </>
      )}
    </div>
  )
}
