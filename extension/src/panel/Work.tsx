import { useId, useState } from 'react'
import { Button } from '@/components/Button'
import { ThreadLine } from '@/components/ThreadLine'
import { maxText } from '../lib/limits'
import { siteOf } from '../lib/review'
import { count, t } from '../lib/texts'
import styles from './Panel.module.css'
import type { Draft } from './task'
import type { Worker } from './useWork'

/** WorkView shows the steps between a request and its question. `server` is the origin that receives the text. */
export function WorkView({ worker, server }: { worker: Worker; server: string }) {
  const { work, send, readPdf, cancel } = worker
  switch (work.kind) {
    case 'idle':
      return null
    case 'refused':
      return (
        <p className={styles.error} role="alert">
          {work.reason}
        </p>
      )
    case 'reading':
      return (
        <section className={styles.start} role="status">
          <p>{work.pdf ? t('readingPdf') : t('reading')}</p>
          <ThreadLine running />
          <Button size="sm" onClick={cancel}>
            {t('cancel')}
          </Button>
        </section>
      )
    case 'pdf':
      return (
        <section className={styles.review} aria-label={t('review')}>
          <h2>{t('review')}</h2>
          <p>{t('pdfReview', sizeOf(work.draft.file))}</p>
          <p className={styles.quiet}>{t('reviewTo', server)}</p>
          <div className={styles.row}>
            <Button variant="primary" onClick={() => readPdf(work.draft)}>
              {t('readPdf')}
            </Button>
            <Button onClick={cancel}>{t('cancel')}</Button>
          </div>
        </section>
      )
    case 'review':
      return <Review draft={work.draft} server={server} onSend={send} onCancel={cancel} />
  }
}

interface ReviewProps {
  readonly draft: Draft
  readonly server: string
  readonly onSend: (draft: Draft, always: boolean) => void
  readonly onCancel: () => void
}

/** Review shows the whole text before it is sent. */
function Review({ draft: read, server, onSend, onCancel }: ReviewProps) {
  const [draft, setDraft] = useState(read)
  const { material, characters, whole, unreadFrames } = draft
  const left = material.left + material.omitted
  const [always, setAlways] = useState(false)
  const box = useId()
  const text = material.kind === 'explanation' ? material.selection : material.text
  return (
    <section className={styles.review} aria-label={t('review')}>
      <h2>{t('review')}</h2>
      <dl>
        <dt>{t('reviewPage')}</dt>
        <dd>
          {material.title}
          <span className={styles.address}>{material.url}</span>
        </dd>
        <dt>{t('sentCharacters')}</dt>
        <dd>{count(characters)}</dd>
        {left > 0 && (
          <>
            <dt>{t('leftCharacters')}</dt>
            <dd>{count(left)}</dd>
          </>
        )}
      </dl>
      {material.left > 0 && <p className={styles.warning}>{t('leftNote', count(maxText))}</p>}
      {whole !== null && (
        <div className={styles.warning}>
          <p>{t('omittedNote', count(material.omitted))}</p>
          <Button size="sm" onClick={() => setDraft(whole)}>
            {t('sendWhole')}
          </Button>
        </div>
      )}
      {unreadFrames > 0 && <p className={styles.warning}>{t('framesNote', unreadFrames)}</p>}
      <details>
        <summary>{t('showText')}</summary>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard. */}
        <pre className={styles.material} tabIndex={0} role="region" aria-label={t('showText')}>
          {text}
        </pre>
      </details>
      <p className={styles.quiet}>{t('reviewTo', server)}</p>
      <div className={styles.row}>
        <Button variant="primary" autoFocus onClick={() => onSend(draft, always)}>
          {t('send')}
        </Button>
        <Button onClick={onCancel}>{t('cancel')}</Button>
      </div>
      <label className={styles.check} htmlFor={box}>
        <input
          id={box}
          type="checkbox"
          checked={always}
          onChange={(event) => setAlways(event.target.checked)}
        />
        {t('skipReview')}（{siteOf(material.url)}）
      </label>
    </section>
  )
}

function sizeOf(file: Blob): string {
  const mega = file.size / (1024 * 1024)
  return mega >= 1 ? `${mega.toFixed(1)} MB` : `${Math.max(1, Math.round(file.size / 1024))} KB`
}
