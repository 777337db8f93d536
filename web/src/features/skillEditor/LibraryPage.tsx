import { useQuery, useSuspenseQuery } from '@tanstack/react-query'
import { type ChangeEvent, useRef } from 'react'
import { Link, useNavigate } from 'react-router'
import { Button, ButtonLink } from '@/components/Button'
import { ChoiceChip } from '@/components/Chip'
import { PageTitle } from '@/components/PageTitle'
import { isAdmin } from '@/entities/session/guard'
import { call, firstErrorMessage } from '@/lib/api'
import { meQuery } from '@/lib/api/queries'
import { writeStoredText } from '@/lib/browser/storedTexts'
import { setValues, useQueryState } from '@/lib/ui/queryState'
import { toastFailure } from '@/lib/ui/toast'
import { Categories } from './Categories'
import { emptyDraft } from './content'
import styles from './Library.module.css'
import { requestsQuery } from './queries'
import { Requests } from './Requests'
import { Shelf } from './Shelf'
import { Standard } from './Standard'
import { texts } from './texts'
import { draftKey } from './useDraft'

const tabs = ['own', 'organization', 'requests', 'standard', 'categories'] as const
type Tab = (typeof tabs)[number]

/**
 * LibraryPage lists the skills that the user may edit; for administrators also the requests and the standard skills.
 */
export function LibraryPage() {
  const { data: me } = useSuspenseQuery(meQuery)
  const admin = isAdmin(me.role)
  const [params, change] = useQueryState()
  const wanted = params.get('tab') as Tab | null
  const tab: Tab =
    wanted !== null && tabs.includes(wanted) && (admin || wanted === 'standard') ? wanted : 'own'
  const requests = useQuery({ ...requestsQuery, enabled: admin }).data?.length ?? 0
  const shown = tabs.filter((name) => admin || name === 'own' || name === 'standard')
  return (
    <div className={styles.page}>
      <PageTitle>{texts.library}</PageTitle>
      <header className={styles.head}>
        <Link to="/home/skill">{texts.back}</Link>
        <h1>{texts.library}</h1>
        <p>{texts.lead}</p>
        <div className={styles.actions}>
          <ButtonLink to="/home/skill/new" variant="primary">
            {texts.create}
          </ButtonLink>
          <ImportButton />
        </div>
      </header>
      <div className={styles.tabs} role="group" aria-label={texts.library}>
        {shown.map((name) => (
          <ChoiceChip
            key={name}
            selected={tab === name}
            onClick={() => change((next) => setValues(next, { tab: name === 'own' ? '' : name }))}
          >
            {texts[name]}
            {name === 'requests' && requests > 0 && `（${requests}）`}
          </ChoiceChip>
        ))}
      </div>
      {tab === 'own' && <Shelf key="own" shelf="own" />}
      {tab === 'organization' && <Shelf key="organization" shelf="organization" />}
      {tab === 'requests' && <Requests />}
      {tab === 'standard' && <Standard admin={admin} />}
      {tab === 'categories' && <Categories />}
    </div>
  )
}

/** ImportButton reads skills from a file. It opens the first one in the editor and saves the others. */
function ImportButton() {
  const input = useRef<HTMLInputElement>(null)
  const navigate = useNavigate()
  const read = async (event: ChangeEvent<HTMLInputElement>) => {
    const file = event.target.files?.[0]
    event.target.value = ''
    if (file === undefined) return
    try {
      const { items } = await call('readSkills', { body: { yaml: await file.text() } })
      const [first, ...others] = items
      for (const content of others)
        await call('createSkill', { body: { request_id: crypto.randomUUID(), audience: 'self', content } })
      if (first === undefined) return
      writeStoredText(draftKey(null), JSON.stringify({ ...emptyDraft(first.category_id), content: first }))
      void navigate('/home/skill/new')
    } catch (cause) {
      toastFailure(firstErrorMessage(cause, texts.failed))
    }
  }
  return (
    <>
      <input ref={input} type="file" accept=".yaml,.yml" hidden onChange={(event) => void read(event)} />
      <Button onClick={() => input.current?.click()}>{texts.importFile}</Button>
    </>
  )
}
