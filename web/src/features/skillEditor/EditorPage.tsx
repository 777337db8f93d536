import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { type FormEvent, type ReactNode, useRef, useState } from 'react'
import { Link, useNavigate, useParams } from 'react-router'
import { Button } from '@/components/Button'
import { PageTitle } from '@/components/PageTitle'
import { ErrorState } from '@/components/States'
import { isAdmin } from '@/entities/session/guard'
import { ApiError, type MadeSkill, type Skill, type Thread } from '@/lib/api'
import * as made from '@/lib/api/madeSkills'
import { meQuery } from '@/lib/api/queries'
import { toast } from '@/lib/ui/toast'
import { AudienceFields } from './AudienceFields'
import { ContentFields } from './ContentFields'
import { type Draft, draftOf, emptyDraft, previewOf } from './content'
import styles from './Editor.module.css'
import { allCategoriesQuery, contentQuery, refreshSkills } from './queries'
import { TrialPane } from './TrialPane'
import { texts } from './texts'
import { useDraft } from './useDraft'
import { Versions } from './Versions'

/** Draws the place where a skill is tried. */
export type RenderTrial = (skill: Skill, start: (requestId: string) => Promise<Thread>) => ReactNode

/** Where a skill is made or changed, with a place to try it. */
export function EditorPage({ trial }: { trial: RenderTrial }) {
  const { skillId } = useParams()
  const categories = useQuery(allCategoriesQuery)
  const saved = useQuery({ ...contentQuery(skillId ?? ''), enabled: skillId !== undefined })
  const title = skillId === undefined ? texts.editor.create : texts.editor.change
  if (categories.isError || saved.isError)
    return (
      <ErrorState
        onRetry={() => {
          void categories.refetch()
          if (skillId !== undefined) void saved.refetch()
        }}
      />
    )
  if (categories.data === undefined || (skillId !== undefined && saved.data === undefined))
    return (
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
      />
    </>
  )
}

interface EditorProps {
  readonly title: string
  readonly begin: Draft
  readonly saved: MadeSkill | null
  readonly trial: RenderTrial
}

function Editor({ title, begin, saved, trial }: EditorProps) {
  const { data: me } = useSuspenseQuery(meQuery)
  const { draft, changed, change, discard } = useDraft(`skill-editor:${saved?.id ?? 'new'}`, begin)
  const [slot] = useState(() => crypto.randomUUID())
  const [versions, setVersions] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const { save, busy, failure } = useSave(draft, saved, discard, form)
  const onSubmit = (event: FormEvent) => {
    event.preventDefault()
    void save()
  }
  const errorOf = (field: string) => failure?.field(field)
  return (
    <div className={styles.page}>
      <form className={styles.form} ref={form} onSubmit={onSubmit} noValidate>
        <header className={styles.head}>
          <Link to="/home/skill/library">{texts.library}</Link>
          <h1>{title}</h1>
        </header>
        {failure && (
          <p className={styles.failure} role="alert">
            {failure.fields.length > 1 ? texts.editor.wrong : failure.message}
          </p>
        )}
        {isAdmin(me.role) && (
          <AudienceFields draft={draft} fixed={saved !== null} errorOf={errorOf} onChange={change} />
        )}
        <ContentFields
          content={draft.content}
          documents={saved?.documents ?? []}
          errorOf={(field) => errorOf(`content.${field}`)}
          onChange={(content) => change({ ...draft, content })}
        />
        <footer className={styles.foot}>
          {changed && <p role="status">{texts.editor.kept}</p>}
          {saved && <Button onClick={() => setVersions(true)}>{texts.editor.versions}</Button>}
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
          onRestore={(content) => change({ ...draft, content })}
          onClose={() => setVersions(false)}
        />
      )}
    </div>
  )
}

/** Saves a draft, each content with one request id, and moves the focus to the first wrong field. */
function useSave(
  draft: Draft,
  saved: MadeSkill | null,
  discard: () => void,
  form: { current: HTMLFormElement | null },
) {
  const navigate = useNavigate()
  const [busy, setBusy] = useState(false)
  const [failure, setFailure] = useState<ApiError | null>(null)
  const request = useRef({ of: '', id: '' })
  const save = async () => {
    const body = { audience: draft.audience, member_ids: [...draft.memberIds], content: draft.content }
    const of = JSON.stringify(body)
    if (request.current.of !== of) request.current = { of, id: crypto.randomUUID() }
    setBusy(true)
    setFailure(null)
    try {
      const saving = { ...body, request_id: request.current.id }
      const done = saved
        ? await made.changeSkill(saved.id, { ...saving, version: draft.version })
        : await made.createSkill(saving)
      discard()
      refreshSkills()
      toast(texts.editor.saved, { tone: 'success' })
      if (!saved) void navigate(`/home/skill/${done.id}/edit`, { replace: true })
    } catch (cause) {
      setFailure(cause instanceof ApiError ? cause : new ApiError(0, { detail: texts.failed }))
      requestAnimationFrame(() => form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
    } finally {
      setBusy(false)
    }
  }
  return { save, busy, failure }
}
