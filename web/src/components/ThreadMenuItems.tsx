import { Archive, ArchiveRestore, Pencil, Pin, PinOff, Trash2 } from 'lucide-react'
import type { ReactNode } from 'react'
import { archiveThreads, changeThread } from '@/entities/thread/threads'
import type { Thread } from '@/lib/api'
import { MenuItem, MenuSeparator } from './Menu'

const texts = {
  rename: '名前を変更',
  pin: 'ピン留め',
  unpin: 'ピン留めを外す',
  archive: 'アーカイブ',
  restore: 'アーカイブから戻す',
  delete: '削除',
} as const

/** The menu items of a thread on every page. */
export function ThreadMenuItems({
  thread,
  onRename,
  onDelete,
  children,
}: {
  thread: Thread
  onRename: () => void
  onDelete: () => void
  /** Further items, which are shown before 削除. */
  children?: ReactNode
}) {
  const { id, pinned, archived } = thread
  const last = (
    <>
      {children}
      {children && <MenuSeparator />}
      <MenuItem icon={<Trash2 size={16} aria-hidden />} danger onSelect={onDelete}>
        {texts.delete}
      </MenuItem>
    </>
  )
  // A temporary thread is in no list, so it cannot be renamed or pinned.
  if (thread.expires_at !== undefined) return last
  return (
    <>
      <MenuItem icon={<Pencil size={16} aria-hidden />} onSelect={onRename}>
        {texts.rename}
      </MenuItem>
      {!archived && (
        <MenuItem
          icon={pinned ? <PinOff size={16} aria-hidden /> : <Pin size={16} aria-hidden />}
          onSelect={() => void changeThread(id, { pinned: !pinned })}
        >
          {pinned ? texts.unpin : texts.pin}
        </MenuItem>
      )}
      <MenuItem
        icon={archived ? <ArchiveRestore size={16} aria-hidden /> : <Archive size={16} aria-hidden />}
        onSelect={() => void archiveThreads([id], !archived)}
      >
        {archived ? texts.restore : texts.archive}
      </MenuItem>
      {last}
    </>
  )
}
