import type { Proofreading } from '@/lib/stream'
import type { DecisionLists } from './review'

/** ProofreadViewProps are the properties of the view of a proofread text. */
export interface ProofreadViewProps {
  readonly proofread: Proofreading
  readonly decided?: DecisionLists | undefined
  /** State of saving the decisions; undefined before the first decision. */
  readonly saving?: 'saving' | 'retrying' | 'saved' | undefined
  /** The server's note on every proofreading; may be empty. */
  readonly note?: string
  /** True while the server is still proofreading the text. The reader can then view changes but not decide them. */
  readonly writing: boolean
  readonly onDecide: (decided: DecisionLists) => void
  /** Saves the text as a Word file that reflects the decisions. */
  readonly onSave: (changes: WordChanges) => Promise<void>
}

/** WordChanges is the form of the changes in a Word file: tracked changes to decide in Word, or applied to the text. */
export type WordChanges = 'tracked' | 'applied'
