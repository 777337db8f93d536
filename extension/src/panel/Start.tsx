import { FileText, Lightbulb } from 'lucide-react'
import type { ReactNode } from 'react'
import { Button } from '@/components/Button'
import { refusalOf, type Target } from '../lib/pages'
import { openPrivacy } from '../lib/privacy'
import { t } from '../lib/texts'
import { Ask } from './Ask'
import styles from './Panel.module.css'
import { ProjectSelect } from './ProjectSelect'
import type { PageRequest } from './task'
import type { ProjectChoice } from './useProjects'

/** The questions about the page, or the reason for their absence. `children` show the result of the last attempt. */
export function Start({
  target,
  choice,
  onRequest,
  children,
}: {
  target: Target
  choice: ProjectChoice
  onRequest: (request: PageRequest) => void
  children: ReactNode
}) {
  const refusal = refusalOf(target)
  if (refusal !== null) {
    return (
      <section className={styles.notice} role="status">
        <p>{t(refusal)}</p>
      </section>
    )
  }
  return (
    <>
      <section className={styles.start}>
        <h2>{t('start')}</h2>
        <p className={styles.page}>{target.title || target.url}</p>
        <Button
          variant="primary"
          wide
          onClick={() => onRequest({ kind: 'summary', question: '', selection: '' })}
        >
          <FileText size={16} aria-hidden />
          {t('summarize')}
        </Button>
        <Button wide onClick={() => onRequest({ kind: 'explanation', question: '', selection: '' })}>
          <Lightbulb size={16} aria-hidden />
          {t('explain')}
        </Button>
        {children}
        <p className={styles.quiet}>{t('privacy')}</p>
        <button type="button" className={styles.textButton} onClick={openPrivacy}>
          {t('privacyLink')}
        </button>
      </section>
      <Ask
        tabId={target.tabId}
        placeholder={t('askFirst')}
        tools={<ProjectSelect {...choice} />}
        onAsk={(question) => onRequest({ kind: 'question', question, selection: '' })}
      />
    </>
  )
}
