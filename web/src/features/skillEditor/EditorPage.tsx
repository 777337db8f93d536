import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { type FormEvent, useRef, useState } from 'react'
import { Link, useParams } from 'react-router'
import { Button } from '@/components/Button'
import { PageTitle } from '@/components/PageTitle'
import { ErrorState } from '@/components/States'
import { isAdmin } from '@/entities/session/guard'
import { ApiError, firstErrorMessage, type MadeSkill } from '@/lib/api'
import { meQuery } from '@/lib/api/queries'
import { formatDate } from '@/lib/ui/dates'
import { useToastPlace } from '@/lib/ui/toastPlace'
import { AudienceFields } from './AudienceFields'
import { ContentFields } from './ContentFields'
import { type Draft, draftOf, emptyDraft, errorIn, previewOf } from './content'
import styles from './Editor.module.css'
import { allCategoriesQuery, contentQuery } from './queries'
import { type RenderTrial, TrialPane } from './TrialPane'
import { texts } from './texts'
import { useDraft } from './useDraft'
import { useSave } from './useSave'
import { Versions } from './Versions'

/** EditorPage creates or edits a skill and has a pane to try it. */
export function EditorPage({ trial }: { trial: RenderTrial }) {
  const { skillId } = useParams()
  const categories = useQuery(allCategoriesQuery)
  // State of this component, because the Editor is remounted for each saved version.
  const [versions, setVersions] = useState(false)
  const saved = useQuery({
    ...contentQuery(skillId ?? ''),
    enabled: skillId !== undefined,
    throwOnError: (cause, { state }) => state.data === undefined && isMissing(cause),
  })
  const title = skillId === undefined ? texts.editor.create : texts.editor.change
  if (categories.data === undefined || (skillId !== undefined && saved.data === undefined))
    return categories.isError || saved.isError ? (
      <ErrorState
        onRetry={() => {
          void categories.refetch()
          if (skillId !== undefined) void saved.refetch()
        }}
      />
    ) : (
      <p className={styles.loading} role="status">
        {texts.loading}
      </p>
    )
  const begin = saved.data ? draftOf(saved.data) : emptyDraft(categories.data[0]?.id ?? '')
  return (
    <>
      <PageTitle>{title}</PageTitle>
      <Editor
        key={`${skillId} ${saved.data?.version}`}
        title={title}
        begin={begin}
        saved={saved.data ?? null}
        trial={trial}
        versions={versions}
        onVersions={setVersions}
      />
    </>
  )
}

// The API responds with 400 to an invalid id. A skill that the user may not edit has no page, as an unknown one.
function isMissing(cause: Error): boolean {
  return cause instanceof ApiError && [400, 403, 404].includes(cause.status)
}

interface EditorProps {
  readonly title: string
  readonly begin: Draft
  readonly saved: MadeSkill | null
  readonly trial: RenderTrial
  /** Whether the dialog with the versions is open. */
  readonly versions: boolean
  readonly onVersions: (open: boolean) => void
}

function Editor({ title, begin, saved, trial, versions, onVersions }: EditorProps) {
  const { data: me } = useSuspenseQuery(meQuery)
  const { draft, changed, change, discard, settle } = useDraft(saved?.id ?? null, begin)
  const [slot] = useState(() => crypto.randomUUID())
  const form = useRef<HTMLFormElement>(null)
  const foot = useRef<HTMLElement>(null)
  useToastPlace('foot', foot)
  const { save, busy, failure } = useSave(draft, saved, settle, form)
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    void save()
  }
  const errorOf = (field: string) => errorIn(failure, field)
  return (
    <div className={styles.page}>
      <form className={styles.form} ref={form} onSubmit={onSubmit} noValidate>
        <header className={styles.head}>
          <Link to="/home/skill/library">{texts.library}</Link>
          <h1>{title}</h1>
        </header>
        {failure && (
          <p className={styles.failure} role="alert">
            {failure.fields.length > 1 ? texts.editor.wrong : firstErrorMessage(failure)}
          </p>
        )}
        {saved && changed && draft.version < saved.version && (
          <Newer
            saved={saved}
            base={draft.version}
            onCompare={() => onVersions(true)}
            onKeep={() => change({ ...draft, version: saved.version })}
          />
        )}
        {isAdmin(me.role) && (
          <AudienceFields draft={draft} fixed={saved !== null} errorOf={errorOf} onChange={change} />
        )}
        <ContentFields
          content={draft.content}
          documents={saved?.documents ?? []}
          missing={saved?.missing_documents ?? 0}
          errorOf={(field) => errorOf(`content.${field}`)}
          onChange={(content) => change({ ...draft, content })}
        />
        <footer className={styles.foot} ref={foot}>
          {changed && <p role="status">{texts.editor.kept}</p>}
          {saved && <Button onClick={() => onVersions(true)}>{texts.editor.versions}</Button>}
          {changed && (
            <Button variant="quiet" onClick={discard}>
              {texts.editor.discard}
            </Button>
          )}
          <Button variant="primary" type="submit" loading={busy}>
            {texts.editor.save}
          </Button>
        </footer>
      </form>
      <TrialPane skill={previewOf(draft.content, slot)} content={draft.content} slot={slot} trial={trial} />
      {versions && saved && (
        <Versions
          skillId={saved.id}
          current={saved.version}
          content={draft.content}
          documents={saved.documents}
          onRestore={(content) => change({ ...draft, content })}
          onClose={() => onVersions(false)}
        />
      )}
    </div>
  )
}

interface NewerProps {
  readonly saved: MadeSkill
  /** The version that the changes in this browser modify. */
  readonly base: number
  readonly onCompare: () => void
  readonly onKeep: () => void
}

/** Newer reports that another session saved the skill after the changes in this browser began. */
function Newer({ saved, base, onCompare, onKeep }: NewerProps) {
  return (
    <div className={styles.newer} role="alert">
      <p>{texts.editor.newer(base, saved.version, saved.updated_by, formatDate(saved.updated_at))}</p>
      <div>
        <Button size="sm" onClick={onCompare}>
          {texts.editor.compareNewer}
        </Button>
        <Button size="sm" onClick={onKeep}>
          {texts.editor.keepMine}
        </Button>
      </div>
    </div>
  )
}
