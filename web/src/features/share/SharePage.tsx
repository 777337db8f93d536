import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useLoaderData, useNavigate } from 'react-router'
import { Button, ButtonLink } from '@/components/Button'
import { PageLink } from '@/components/PageLink'
import { PageTitle } from '@/components/PageTitle'
import { SkillIcon } from '@/components/SkillIcon'
import { call, errorMessage, type Share, type SharedMessage } from '@/lib/api'
import { Markdown } from '@/lib/markdown'
import { httpUrl } from '@/lib/stream'
import { formatDay, formatFull } from '@/lib/ui/dates'
import { useTask } from '@/lib/ui/task'
import { toastFailure } from '@/lib/ui/toast'
import { sharedMessagesQuery } from './loader'
import styles from './SharePage.module.css'
import { texts } from './texts'

/** SharePage shows a thread shared within the organization. The user can continue it in a new thread. */
export function SharePage() {
  const share = useLoaderData<Share>()
  const { data, hasNextPage, fetchNextPage, isFetchingNextPage, isFetchNextPageError } = useInfiniteQuery(
    sharedMessagesQuery(share.id),
  )
  const at = formatFull(share.updated_at)
  return (
    <div className={styles.column}>
      <PageTitle>{share.title}</PageTitle>
      <header className={styles.head}>
        <p className={styles.skill}>
          <SkillIcon path={share.skill.icon_path} size={20} />
          {share.skill.name}
        </p>
        <h1 className={styles.title}>{share.title}</h1>
        <p className={styles.quiet}>{share.own ? texts.own(at) : texts.shared(share.owner_name, at)}</p>
        <p className={styles.quiet}>{texts.note}</p>
      </header>
      <ol className={styles.messages} aria-label={texts.messages}>
        {data?.pages.flat().map((message, index) => (
          // The order of a share's messages never changes.
          // biome-ignore lint/suspicious/noArrayIndexKey: The messages have no ids.
          <Message key={index} message={message} />
        ))}
      </ol>
      {isFetchNextPageError && <p role="alert">{texts.moreFailed}</p>}
      {hasNextPage && (
        <Button loading={isFetchingNextPage} onClick={() => void fetchNextPage()}>
          {texts.more}
        </Button>
      )}
      <Foot share={share} />
    </div>
  )
}

function Message({ message }: { message: SharedMessage }) {
  const { role, content, finish_reason, picture_count } = message
  if (role === 'user')
    return (
      <li className={styles.question}>
        <h2 className="visually-hidden">{texts.question}</h2>
        {content}
        {picture_count && <p className={styles.quiet}>{texts.pictures(picture_count)}</p>}
      </li>
    )
  // Consulted passages have numbers even if they are not cited.
  const citations = message.citations.filter(({ index }) => content.includes(`[${index}]`))
  const ending = texts.endings[finish_reason ?? '']
  return (
    <li className={styles.answer}>
      <h2 className="visually-hidden">{texts.answer}</h2>
      <Markdown text={content} />
      {ending && <p className={styles.quiet}>{ending}</p>}
      {citations.length > 0 && (
        <ol className={styles.sources} aria-label={texts.sources}>
          {citations.map(({ index, filename, page, url, site, published_on }) => (
            <li key={index}>
              [{index}] {httpUrl(url ?? '') ? <PageLink url={url ?? ''}>{filename}</PageLink> : filename}
              {[page > 0 && texts.page(page), site, published_on && formatDay(published_on)]
                .filter(Boolean)
                .map((place) => `・${place}`)}
            </li>
          ))}
        </ol>
      )}
    </li>
  )
}

function Foot({ share }: { share: Share }) {
  const navigate = useNavigate()
  const { busy, run } = useTask()
  // A retry after a failure creates the same thread.
  const [requestId] = useState(() => crypto.randomUUID())
  const goOn = () =>
    run(
      async () => {
        const thread = await call('copyShare', { share_id: share.id, body: { request_id: requestId } })
        await navigate(`/home/skill/${thread.skill.id}/chat/${thread.id}`)
      },
      (cause) => toastFailure(`${texts.copyFailed}${errorMessage(cause, '')}`, () => void goOn()),
    )
  return (
    <footer className={styles.foot} data-print="hide">
      {share.own && share.thread_id ? (
        <ButtonLink to={`/home/skill/${share.skill.id}/chat/${share.thread_id}`}>{texts.open}</ButtonLink>
      ) : (
        <>
          <Button variant="primary" loading={busy} onClick={() => void goOn()}>
            {texts.copy}
          </Button>
          <p className={styles.quiet}>{texts.copyHint}</p>
        </>
      )}
    </footer>
  )
}
