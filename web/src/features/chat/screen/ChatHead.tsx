import { useAtomValue } from 'jotai'
import { Download, FileText, Folder, MoreHorizontal, Printer, Share2, Users } from 'lucide-react'
import { useEffect, useEffectEvent, useRef, useState } from 'react'
import { Link } from 'react-router'
import { IconButton } from '@/components/IconButton'
import { Menu, MenuItem } from '@/components/Menu'
import { RenameField } from '@/components/RenameField'
import { SkillIcon } from '@/components/SkillIcon'
import { ThreadMenuItems } from '@/components/ThreadMenuItems'
import { changeThread, useDeleteThreads, useThreads } from '@/entities/thread/threads'
import type { Skill, Thread } from '@/lib/api'
import { download } from '@/lib/browser/download'
import { printSoon } from '@/lib/browser/print'
import { LazyPart, useLazyDialog } from '@/lib/ui/lazyPart'
import { toastFailure } from '@/lib/ui/toast'
import type { Conversation } from '../conversation/conversation'
import { fileName, saveDocx, threadParts, toMarkdown } from '../conversation/export'
import { isRunning, isWriting } from '../conversation/turns'
import { texts } from '../texts'
import styles from './ChatHead.module.css'

const projectPart = new LazyPart(async () => (await import('../project/ProjectDialog')).ProjectDialog)
const sharePart = new LazyPart(async () => (await import('./ShareDialog')).ShareDialog)

/** ChatHead shows the skill, the thread's title and the actions on the thread. */
export function ChatHead({
  skill,
  conversation,
  title,
}: {
  skill: Skill
  conversation: Conversation
  title: string
}) {
  const thread = useThread(conversation)
  const deleteThreads = useDeleteThreads()
  const [renaming, setRenaming] = useState(false)
  const [sharing, setSharing] = useState<string | null>(null)
  const [moving, setMoving] = useState(false)
  const leaf = useLeaf(conversation)
  const stopMoving = () => setMoving(false)
  const stopSharing = () => setSharing(null)
  const ProjectDialog = useLazyDialog(projectPart, moving, stopMoving)
  const ShareDialog = useLazyDialog(sharePart, sharing !== null, stopSharing)
  // After renaming starts, the focus belongs to the text field instead of the menu's button.
  const keepFocus = useRef(false)
  const remove = () => {
    if (thread === null) return
    keepFocus.current = true
    deleteThreads([thread.id])
  }
  const withAll = (run: () => void) => {
    conversation.loadAll().then(run, () => toastFailure(texts.menu.failed, () => withAll(run)))
  }
  const print = usePrint(conversation)
  usePrintKey(conversation, print)
  const save = () =>
    download(fileName(title), toMarkdown(title, skill.name, conversation.state.turns), 'text/markdown')
  const saveWord = () => {
    saveDocx(title, threadParts(title, skill.name, conversation.state.turns)).catch(() =>
      toastFailure(texts.menu.wordFailed, saveWord),
    )
  }
  const output = (
    <>
      <MenuItem icon={<Download size={16} aria-hidden />} onSelect={() => withAll(save)}>
        {texts.menu.save}
      </MenuItem>
      <MenuItem icon={<FileText size={16} aria-hidden />} onSelect={() => withAll(saveWord)}>
        {texts.menu.word}
      </MenuItem>
      <MenuItem icon={<Printer size={16} aria-hidden />} onSelect={print}>
        {texts.menu.print}
      </MenuItem>
    </>
  )
  return (
    <header className={styles.head}>
      <Link className={styles.skill} to={`/home/skill/${skill.id}`} title={skill.name}>
        <SkillIcon path={skill.icon_path} size={20} />
        <span>{skill.name}</span>
      </Link>
      {thread?.project && (
        <Link
          className={styles.project}
          to={`/home/project/${thread.project.id}`}
          title={thread.project.name}
          aria-label={texts.project.place(thread.project.name, thread.visibility === 'project')}
        >
          {thread.visibility === 'project' ? (
            <Users size={14} aria-hidden />
          ) : (
            <Folder size={14} aria-hidden />
          )}
          <span>{thread.project.name}</span>
        </Link>
      )}
      {renaming ? (
        <RenameField
          title={thread?.title ?? ''}
          onDone={(next) => {
            setRenaming(false)
            if (next !== null && thread) void changeThread(thread.id, { title: next })
          }}
        />
      ) : (
        <h1 className={styles.title} title={title}>
          {title}
        </h1>
      )}
      <Menu
        onCloseAutoFocus={(event) => {
          if (keepFocus.current) event.preventDefault()
          keepFocus.current = false
        }}
        trigger={
          <IconButton label={texts.menu.label} data-print="hide">
            <MoreHorizontal size={18} />
          </IconButton>
        }
      >
        {thread?.own !== false && leaf && thread?.visibility !== 'project' && (
          <MenuItem
            icon={<Share2 size={16} aria-hidden />}
            onSelect={() => {
              keepFocus.current = true
              setSharing(leaf)
            }}
          >
            {texts.share.item}
          </MenuItem>
        )}
        {thread && thread.own !== false && !thread.expires_at && (
          <MenuItem
            icon={<Folder size={16} aria-hidden />}
            onSelect={() => {
              keepFocus.current = true
              setMoving(true)
            }}
          >
            {texts.project.move.item}
          </MenuItem>
        )}
        {thread && thread.own !== false ? (
          <ThreadMenuItems
            thread={thread}
            onRename={() => {
              keepFocus.current = true
              setRenaming(true)
            }}
            onDelete={remove}
          >
            {output}
          </ThreadMenuItems>
        ) : (
          output
        )}
      </Menu>
      {ProjectDialog && thread && (
        <ProjectDialog conversation={conversation} thread={thread} onClose={stopMoving} />
      )}
      {ShareDialog && thread && sharing && (
        <ShareDialog threadId={thread.id} leaf={sharing} onClose={stopSharing} />
      )}
    </header>
  )
}

/**
 * useLeaf returns the id of the last answer that can be shared, or null while an answer is running and in a temporary
 * thread.
 */
function useLeaf(conversation: Conversation): string | null {
  const { temporary, turns } = useAtomValue(conversation.stateAtom)
  const last = turns.at(-1)
  if (temporary || last === undefined || last.pending || isWriting(last)) return null
  return last.message.role === 'assistant' && !isRunning(last.message) ? last.message.id : null
}

/** useThread returns the thread from the list of threads, or as loaded for the page. */
function useThread(conversation: Conversation): Thread | null {
  const { thread } = useAtomValue(conversation.stateAtom)
  const { items } = useThreads()
  return items.find((item) => item.id === thread?.id) ?? thread
}

/**
 * usePrint returns a function that prints the thread after loading all of it. Calls during loading do not print again.
 * Nothing is printed if the reader leaves the thread.
 */
function usePrint(conversation: Conversation): () => void {
  const shown = useRef<{ conversation: Conversation; printing: boolean }>(null)
  useEffect(() => {
    shown.current = { conversation, printing: false }
    return () => {
      shown.current = null
    }
  }, [conversation])
  const print = () => {
    const here = shown.current
    if (here?.conversation !== conversation || here.printing) return
    here.printing = true
    const ended = (then: () => void) => {
      here.printing = false
      if (shown.current === here) then()
    }
    conversation.loadAll().then(
      () => printSoon(() => ended(() => window.print())),
      () => ended(() => toastFailure(texts.menu.failed, print)),
    )
  }
  return print
}

/**
 * usePrintKey makes Ctrl+P print the complete thread, as the menu does. After all messages are loaded, the browser's
 * own shortcut is sufficient.
 */
function usePrintKey(conversation: Conversation, print: () => void): void {
  const onKeyDown = useEffectEvent((event: KeyboardEvent) => {
    const mod = event.ctrlKey !== event.metaKey && !event.shiftKey && !event.altKey
    if (!mod || event.key.toLowerCase() !== 'p' || conversation.state.older === 'end') return
    event.preventDefault()
    print()
  })
  useEffect(() => {
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [])
}
