import { ExternalLink, MessageSquarePlus, Settings } from 'lucide-react'
import { useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { IconButton } from '@/components/IconButton'
import { LogoMark } from '@/components/Logo'
import { Tooltips } from '@/components/Tooltip'
import { onIntent, takeIntent } from '../lib/intent'
import type { Target } from '../lib/pages'
import { addressOf } from '../lib/storedConversations'
import { t } from '../lib/texts'
import { Ask } from './Ask'
import { type Access, useAccess } from './access'
import type { Conversation } from './conversation'
import { setDraft } from './drafts'
import styles from './Panel.module.css'
import { ProjectName } from './ProjectSelect'
import { AccessNotice, AccessScreen } from './Screens'
import { Start } from './Start'
import { Turns } from './Turns'
import { type Place, readPlace, useTarget } from './target'
import type { PageRequest } from './task'
import { useConversation } from './useConversation'
import { useProjects } from './useProjects'
import { useWork, type Work } from './useWork'
import { WorkView } from './Work'

/** The panel: the conversation about the page of the tab next to it. */
export function App() {
  const place = usePlace()
  const target = useTarget(place)
  const { access, retry, refuse } = useAccess()
  const { conversation, moved, open } = useConversation(target)
  const ready = access.kind === 'ready'
  const choice = useProjects(ready)
  const worker = useWork(target, choice.chosen, open)
  const { work, prepare } = worker
  useEffect(() => {
    if (conversation !== null) conversation.onSignedOut = refuse
  }, [conversation, refuse])
  useEffect(() => {
    if (ready) conversation?.resume()
  }, [conversation, ready])
  useIntents(place, target, ready, prepare)
  const main = useFocus(work.kind)
  const onNew = () => open(null)
  const origin = 'server' in access ? access.server.origin : ''
  const asking = work.kind === 'idle' || work.kind === 'refused'
  const steps = <WorkView worker={worker} server={origin} />
  const body = () => {
    if (access.kind === 'loading' || target === null) return null
    if (conversation !== null)
      return (
        <>
          {access.kind !== 'ready' && <AccessNotice access={access} onRetry={retry} />}
          {moved && <Moved conversation={conversation} moved={moved} onNew={onNew} />}
          <Turns conversation={conversation} origin={origin} />
          {steps}
          {asking && <Further conversation={conversation} ready={ready} />}
        </>
      )
    if (access.kind !== 'ready') return <AccessScreen access={access} onRetry={retry} />
    if (!asking) return steps
    return (
      <Start target={target} choice={choice} onRequest={prepare}>
        {steps}
      </Start>
    )
  }
  return (
    <>
      <Head access={access} conversation={conversation} onNew={onNew} />
      <main className={styles.main} ref={main} tabIndex={-1}>
        {body()}
      </main>
      <Tooltips />
    </>
  )
}

function Further({ conversation, ready }: { conversation: Conversation; ready: boolean }) {
  const stored = useSyncExternalStore(conversation.subscribe, conversation.snapshot)
  return (
    <Ask
      key={`${stored.tabId}:${stored.url}`}
      tabId={stored.tabId}
      placeholder={t('askNext')}
      writing={conversation.writing}
      disabled={!ready || stored.threadId === null}
      tools={<ProjectName project={stored.project} />}
      onStop={() => void conversation.stop().catch(() => {})}
      onAsk={(question) => {
        conversation.followUp(question)
        setDraft(stored.tabId, '')
      }}
    />
  )
}

function Moved({
  conversation,
  moved,
  onNew,
}: {
  conversation: Conversation
  moved: 'moved' | 'unknown'
  onNew: () => void
}) {
  return (
    <div className={styles.banner} role="status">
      <p>{moved === 'moved' ? t('moved', conversation.stored.title) : t('movedUnknown')}</p>
      {moved === 'moved' && (
        <button type="button" className={styles.textButton} onClick={onNew}>
          {t('aboutThis')}
        </button>
      )}
    </div>
  )
}

function Head({
  access,
  conversation,
  onNew,
}: {
  access: Access
  conversation: Conversation | null
  onNew: () => void
}) {
  return (
    <header className={styles.head}>
      <h1 className={styles.brand}>
        <LogoMark size={22} />
        <span>Tsumugi</span>
      </h1>
      {access.kind === 'ready' && conversation !== null && (
        <ContinueOnWeb conversation={conversation} origin={access.server.origin} />
      )}
      {conversation !== null && (
        <IconButton size="sm" label={t('newTalk')} onClick={onNew}>
          <MessageSquarePlus size={16} />
        </IconButton>
      )}
      <IconButton size="sm" label={t('settings')} onClick={() => void chrome.runtime.openOptionsPage()}>
        <Settings size={16} />
      </IconButton>
    </header>
  )
}

/** Opens the same thread in the app, once it exists. */
function ContinueOnWeb({ conversation, origin }: { conversation: Conversation; origin: string }) {
  const { threadId } = useSyncExternalStore(conversation.subscribe, conversation.snapshot)
  if (threadId === null) return null
  return (
    <IconButton
      size="sm"
      label={t('continueOnWeb')}
      onClick={() => void chrome.tabs.create({ url: `${origin}/chat/${threadId}` })}
    >
      <ExternalLink size={16} />
    </IconButton>
  )
}

function usePlace(): Place | null {
  const [place, setPlace] = useState<Place | null>(null)
  useEffect(() => {
    void readPlace().then(setPlace)
  }, [])
  return place
}

/** useFocus moves the focus to the question's field, else to the page, if the pressed button has gone with its step. */
function useFocus(step: Work['kind']) {
  const main = useRef<HTMLElement>(null)
  const before = useRef(step)
  useEffect(() => {
    if (before.current === step) return
    before.current = step
    if (document.activeElement !== document.body) return
    const field = main.current?.querySelector<HTMLElement>('textarea:not([disabled])')
    const next = field ?? main.current
    next?.focus({ preventScroll: true })
  }, [step])
  return main
}

/** useIntents executes the user's action from the toolbar, a menu or the keyboard once the panel knows the page. */
function useIntents(
  place: Place | null,
  target: Target | null,
  ready: boolean,
  prepare: (request: PageRequest) => void,
): void {
  const windowId = place?.windowId
  const tabId = target?.tabId
  const known = target !== null && addressOf(target.url) !== ''
  useEffect(() => {
    if (windowId === undefined || tabId === undefined || !ready || !known) return
    const take = async () => {
      const intent = await takeIntent(windowId)
      if (intent === null || intent.tabId !== tabId || intent.kind === 'open') return
      const kind = intent.kind === 'summarize' ? 'summary' : 'explanation'
      prepare({ kind, question: '', selection: intent.selection ?? '' })
    }
    void take()
    return onIntent(windowId, () => void take())
  }, [windowId, tabId, ready, known, prepare])
}
