import { FileText, MoreHorizontal, Printer } from 'lucide-react'
import { IconButton } from '@/components/IconButton'
import { Menu, MenuItem } from '@/components/Menu'
import type { Message } from '@/lib/api'
import { printOnly } from '@/lib/browser/print'
import { toastFailure } from '@/lib/ui/toast'
import type { Conversation } from '../conversation/conversation'
import { answerParts, saveDocx } from '../conversation/export'
import { texts } from '../texts'

/** More has the less frequent actions on an answer. */
export function More({ message, conversation }: { message: Message; conversation: Conversation }) {
  const saveWord = () => {
    const title = conversation.state.thread?.title || texts.untitled
    saveDocx(title, answerParts(message)).catch(() => toastFailure(texts.menu.wordFailed, saveWord))
  }
  const print = () => printOnly(document.querySelector(`[data-message="${message.id}"]`))
  return (
    <Menu
      align="start"
      trigger={
        <IconButton size="sm" label={texts.actions.more}>
          <MoreHorizontal size={16} />
        </IconButton>
      }
    >
      {/* A proofread text is saved with its changes, by the buttons above it. */}
      {!message.proofread && (
        <MenuItem icon={<FileText size={16} aria-hidden />} onSelect={saveWord}>
          {texts.menu.word}
        </MenuItem>
      )}
      <MenuItem icon={<Printer size={16} aria-hidden />} onSelect={print}>
        {texts.menu.print}
      </MenuItem>
    </Menu>
  )
}
