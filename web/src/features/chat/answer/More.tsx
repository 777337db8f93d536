import { useAtomValue } from 'jotai'
import { CircleStop, FileText, MoreHorizontal, Printer, Volume2 } from 'lucide-react'
import { useEffect } from 'react'
import { Button } from '@/components/Button'
import { IconButton } from '@/components/IconButton'
import { Menu, MenuItem } from '@/components/Menu'
import type { Message } from '@/lib/api'
import { printOnly } from '@/lib/browser/print'
import { canSpeak, speak, speakingAtom, stopSpeaking } from '@/lib/browser/speech'
import { markdownToSpeech } from '@/lib/markdown'
import { store } from '@/lib/ui/store'
import { toast, toastFailure } from '@/lib/ui/toast'
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
      {canSpeak() && !message.proofread && (
        <MenuItem icon={<Volume2 size={16} aria-hidden />} onSelect={() => readAloud(message)}>
          {texts.speech.read}
        </MenuItem>
      )}
    </Menu>
  )
}

function readAloud(message: Message): void {
  markdownToSpeech(message.content)
    .then((text) => speak(message.id, text))
    .then(
      (spoken) => spoken || toast(texts.speech.noVoice, { duration: 10_000 }),
      () => toastFailure(texts.speech.failed, () => readAloud(message)),
    )
}

/** StopReading stops reading an answer aloud. It is shown while the answer is read. Leaving the chat also stops it. */
export function StopReading({ messageId }: { messageId: string }) {
  const speaking = useAtomValue(speakingAtom, { store }) === messageId
  useEffect(() => (speaking ? stopSpeaking : undefined), [speaking])
  return (
    speaking && (
      <Button size="sm" variant="quiet" onClick={stopSpeaking}>
        <CircleStop size={14} aria-hidden />
        {texts.speech.stop}
      </Button>
    )
  )
}
