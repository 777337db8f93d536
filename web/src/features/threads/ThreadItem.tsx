import { MoreHorizontal } from 'lucide-react'
import { type AriaAttributes, useRef, useState } from 'react'
import { Link, useMatch } from 'react-router'
import { IconButton } from '@/components/IconButton'
import { Menu } from '@/components/Menu'
import { RenameField } from '@/components/RenameField'
import { SkillIcon } from '@/components/SkillIcon'
import { Snippet } from '@/components/Snippet'
import { Spinner } from '@/components/Spinner'
import { ThreadMenuItems } from '@/components/ThreadMenuItems'
import { threadPath } from '@/entities/thread/foundThreads'
import { changeThread, useDeleteThreads } from '@/entities/thread/threads'
import type { Thread } from '@/lib/api'
import { Checkbox } from '@/lib/ui/Checkbox'
import { cx } from '@/lib/ui/cx'
import { formatFull } from '@/lib/ui/dates'
import { useSelection } from './selection'
import styles from './ThreadItem.module.css'
import { texts } from './texts'

interface ThreadItemProps extends AriaAttributes {
  thread: Thread
}

/**
 * One thread of the list: its title, whether an answer is running, and its menu. A list that renders a part of its
 * threads passes the thread's position.
 */
export function ThreadItem({ thread, ...position }: ThreadItemProps) {
  const path = `/home/skill/${thread.skill.id}/chat/${thread.id}`
  const current = useMatch(path) !== null
  const deleteThreads = useDeleteThreads()
  const [renaming, setRenaming] = useState(false)
  // When the menu closes it returns the focus to its button; the field that just opened needs it more.
  const keepFocus = useRef(false)
  const item = useRef<HTMLLIElement>(null)
  const selection = useSelection()
  const title = thread.title || texts.untitled

  const renamed = (next: string | null) => {
    // Ended by a key and not by leaving the field: the focus stays with the thread.
    const stay = item.current?.contains(document.activeElement)
    setRenaming(false)
    if (stay) requestAnimationFrame(() => focusLink(item.current))
    if (next !== null) void changeThread(thread.id, { title: next })
  }

  const remove = () => {
    const neighbour = item.current?.nextElementSibling ?? item.current?.previousElementSibling
    keepFocus.current = true
    // Leaving a page moves the focus to the next one; removing a line moves it to the adjacent line.
    if (!current) requestAnimationFrame(() => focusLink(neighbour))
    deleteThreads([thread.id])
  }

  if (selection !== null) {
    return (
      <li className={styles.item} {...position}>
        <label className={styles.choice}>
          <Checkbox checked={selection.ids.has(thread.id)} onChange={() => selection.toggle(thread.id)} />
          <SkillIcon path={thread.skill.icon_path} size={18} />
          <Lines thread={thread} title={title} />
        </label>
      </li>
    )
  }
  if (renaming) {
    return (
      <li className={styles.item} data-current={current || undefined} ref={item} {...position}>
        <RenameField title={thread.title} onDone={renamed} />
      </li>
    )
  }
  return (
    <li className={styles.item} data-current={current || undefined} ref={item} {...position}>
      <Link
        className={cx(styles.link)}
        to={threadPath(thread)}
        aria-current={current ? 'page' : undefined}
        title={`${title}\n${thread.skill.name}・${formatFull(thread.touched_at)}`}
      >
        <span className={styles.icon}>
          <SkillIcon path={thread.skill.icon_path} size={18} />
          {thread.running && (
            <>
              <Spinner size={26} />
              <span className="visually-hidden">{texts.running}</span>
            </>
          )}
        </span>
        <Lines thread={thread} title={title} />
      </Link>
      <span className={styles.menu}>
        {thread.own !== false && (
          <Menu
            align="start"
            onCloseAutoFocus={(event) => {
              if (keepFocus.current) event.preventDefault()
              keepFocus.current = false
            }}
            trigger={
              <IconButton label={texts.menu(title)} size="sm">
                <MoreHorizontal size={16} />
              </IconButton>
            }
          >
            <ThreadMenuItems
              thread={thread}
              onRename={() => {
                keepFocus.current = true
                setRenaming(true)
              }}
              onDelete={remove}
            />
          </Menu>
        )}
      </span>
    </li>
  )
}

/** The title, with the matches of a search marked. */
function Lines({ thread: { match }, title }: { thread: Thread; title: string }) {
  if (match === undefined) return <span className={styles.title}>{title}</span>
  const found = <Snippet text={match.snippet} ranges={match.ranges} />
  return (
    <span className={styles.lines}>
      <span className={styles.title}>{match.message_id === undefined ? found : title}</span>
      {match.message_id !== undefined && <span className={styles.snippet}>{found}</span>}
    </span>
  )
}

function focusLink(within: Element | null | undefined): void {
  const target = within?.querySelector<HTMLElement>('a') ?? document.querySelector<HTMLElement>('main')
  target?.focus()
}
