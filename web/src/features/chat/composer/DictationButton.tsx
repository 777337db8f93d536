import { useQuery } from '@tanstack/react-query'
import { Mic, Square } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { ComposerTool } from '@/components/ComposerBox'
import { guidanceQuery } from '@/entities/guidance/guidance'
import { Dictation, type DictationEnd, findRecognizer, type Recognizer } from '@/lib/browser/dictation'
import { store } from '@/lib/ui/store'
import { toast } from '@/lib/ui/toast'
import { draftAtom } from '../draft/drafts'
import { texts } from '../texts'

const words = texts.dictation

/**
 * DictationButton enters speech into a draft. It is shown only if this device recognizes speech itself, or if the
 * organization allows the browser's service.
 */
export function DictationButton({ draft, disabled }: { draft: string; disabled: boolean }) {
  const [recognizer, setRecognizer] = useState<Recognizer | null>(null)
  const service = useQuery(guidanceQuery).data?.dictation.service ?? false
  const [state, setState] = useState<'off' | 'beginning' | 'on'>('off')
  const running = useRef<Dictation>(null)
  const beginning = useRef<AbortController>(null)
  useEffect(() => {
    void findRecognizer(service).then(setRecognizer)
  }, [service])
  // Another draft, or the end of this one, stops the dictation.
  // biome-ignore lint/correctness/useExhaustiveDependencies: the effect belongs to the draft.
  useEffect(
    () => () => {
      beginning.current?.abort()
      running.current?.stop()
      running.current = null
    },
    [draft],
  )
  if (recognizer === null) return null

  const onEnd = (end: DictationEnd) => {
    running.current = null
    setState('off')
    if (end !== 'done') toast(end === 'not-allowed' ? words.notAllowed : words.failed, { tone: 'danger' })
  }
  const toggle = () => {
    if (state !== 'off') {
      running.current?.stop()
      return
    }
    setState('beginning')
    const text = draftAtom(draft)
    beginning.current = new AbortController()
    const { signal } = beginning.current
    const onText = (spoken: string) => store.set(text, store.get(text) + spoken)
    Dictation.begin(recognizer, signal, onText, onEnd).then(
      (dictation) => {
        running.current = dictation
        setState('on')
      },
      () => onEnd(signal.aborted ? 'done' : 'failed'),
    )
  }
  return (
    <ComposerTool
      icon={state === 'on' ? <Square size={16} aria-hidden /> : <Mic size={16} aria-hidden />}
      aria-label={recognizer === 'service' ? words.labelService : words.label}
      aria-pressed={state !== 'off'}
      data-tip="top"
      disabled={disabled || state === 'beginning'}
      onMouseDown={(event) => event.preventDefault()} // The focus stays in the field.
      onClick={toggle}
    >
      {state === 'on' ? words.stop : words.button}
    </ComposerTool>
  )
}
