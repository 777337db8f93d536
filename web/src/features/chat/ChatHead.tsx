import { Download, MoreHorizontal, Printer } from 'lucide-react'
import { Link } from 'react-router'
import { IconButton } from '@/components/IconButton'
import { Menu, MenuItem } from '@/components/Menu'
import { SkillIcon } from '@/components/SkillIcon'
import type { Skill } from '@/lib/api'
import { toastFailure } from '@/lib/toast'
import styles from './Chat.module.css'
import type { Conversation } from './conversation'
import { download, fileName, toMarkdown } from './export'
import { texts } from './texts'

/** The skill, the thread's title, and what can be done with the thread. */
export function ChatHead({
  skill,
  conversation,
  title,
}: {
  skill: Skill
  conversation: Conversation
  title: string
}) {
  const withAll = (run: () => void) => {
    conversation.loadAll().then(run, () => toastFailure(texts.menu.failed, () => withAll(run)))
  }
  const save = () => download(fileName(title), toMarkdown(title, skill.name, conversation.state.turns))
  return (
    <header className={styles.head}>
      <Link className={styles.skill} to={`/home/skill/${skill.id}`}>
        <SkillIcon path={skill.icon_path} size={20} />
        {skill.name}
      </Link>
      <h1 className={styles.title}>{title}</h1>
      <Menu
        trigger={
          <IconButton label={texts.menu.label} data-print="hide">
            <MoreHorizontal size={18} />
          </IconButton>
        }
      >
        <MenuItem icon={<Download size={16} aria-hidden />} onSelect={() => withAll(save)}>
          {texts.menu.save}
        </MenuItem>
        {/* After the menu has gone: it would be on the paper. */}
        <MenuItem
          icon={<Printer size={16} aria-hidden />}
          onSelect={() => withAll(() => setTimeout(() => window.print(), 100))}
        >
          {texts.menu.print}
        </MenuItem>
      </Menu>
    </header>
  )
}
