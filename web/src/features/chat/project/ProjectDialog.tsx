import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { ConfirmDialog } from '@/components/ConfirmDialog'
import { Select } from '@/components/Field'
import { ErrorState } from '@/components/States'
import { PROJECTS, refreshProjects } from '@/entities/project/projects'
import { upsertThread } from '@/entities/thread/threads'
import { call, firstErrorMessage, type Thread } from '@/lib/api'
import { useTask } from '@/lib/ui/task'
import { toast, toastFailure } from '@/lib/ui/toast'
import type { Conversation } from '../conversation/conversation'
import { texts } from '../texts'
import styles from './Project.module.css'

const words = texts.project.move

/** The number of projects to choose from. */
const CHOICES = 100

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
  const [projectId, setProjectId] = useState(thread.project?.id ?? '')
  const [visibility, setVisibility] = useState(thread.visibility ?? 'private')
  const { busy, run } = useTask()
  const projects = useQuery({
    queryKey: [...PROJECTS, 'choices'],
    queryFn: ({ signal }) => call('listProjects', { state: 'active', offset: 0, limit: CHOICES, signal }),
    staleTime: 0,
  })
  const known = projects.data?.items ?? []
  const present = thread.project
  const choices = present && !known.some(({ id }) => id === present.id) ? [present, ...known] : known
  const save = () =>
    run(
      async () => {
        const moved = await call('moveThread', {
          thread_id: thread.id,
          body:
            projectId === ''
              ? { project_id: null, visibility: 'private' }
              : { project_id: projectId, visibility },
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
        {projects.isError && <ErrorState onRetry={() => void projects.refetch()} />}
        <Select
          label={words.project}
          hint={projects.data?.items.length === 0 ? words.none : undefined}
          value={projectId}
          onChange={(event) => setProjectId(event.target.value)}
        >
          <option value="">{words.outside}</option>
          {choices.map(({ id, name }) => (
            <option key={id} value={id}>
              {name}
            </option>
          ))}
        </Select>
        {projectId !== '' && (
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
            {visibility === 'project' && <Audience threadId={thread.id} projectId={projectId} />}
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
  if (data === undefined)
    return <p className={styles.audience}>{isError ? words.audienceFailed : words.loading}</p>
  return (
    <div className={styles.audience}>
      <p role="status">{words.audience(data.member_count, data.questions)}</p>
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
