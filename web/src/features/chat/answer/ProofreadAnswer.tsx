import { useAtomValue } from 'jotai'
import { useMemo } from 'react'
import { call, type Message, type Proofread } from '@/lib/api'
import { download } from '@/lib/browser/download'
import { docxType } from '@/lib/docx'
import type { Proofreading } from '@/lib/stream'
import { useLazyPart } from '@/lib/ui/lazyPart'
import type { Conversation } from '../conversation/conversation'
import { fileName } from '../conversation/export'
import { proofreadPart } from '../proofread/proofreadPart'
import { texts } from '../texts'

/** ProofreadAnswer shows an answer that is a list of changes to a text, while running and finished. */
export function ProofreadAnswer({
  proofread,
  message,
  writing,
  conversation,
}: {
  proofread: Proofreading | Proofread
  message: Message
  writing: boolean
  conversation: Conversation
}) {
  const View = useLazyPart(proofreadPart, true)
  const known = useMemo(() => ({ ...proofread, unchecked: proofread.unchecked ?? [] }), [proofread])
  const pending = useAtomValue(conversation.decisionsAtom).get(message.id)
  const save = async (changes: 'tracked' | 'applied') => {
    if (!(await conversation.storeDecisions(message.id))) throw new Error('the decisions are not stored')
    const name =
      message.proofread?.file?.filename.replace(/\.[^.]*$/, '') ||
      conversation.state.thread?.title ||
      texts.untitled
    const file = await call('downloadDocx', { message_id: message.id, changes })
    download(fileName(name, texts.proofread.saved), file, docxType)
  }
  return (
    View && (
      <View
        proofread={known}
        decided={pending?.decided ?? message.proofread?.decisions}
        saving={pending?.state}
        note={noteIn(message.content)}
        writing={writing}
        onDecide={(decided) => conversation.decide(message.id, decided)}
        onSave={save}
      />
    )
  )
}

/** noteIn returns the text below the horizontal rule of a proofreading report. The report contains no other rule. */
function noteIn(report: string): string {
  return report.split('\n---\n\n')[1]?.trim() ?? ''
}
