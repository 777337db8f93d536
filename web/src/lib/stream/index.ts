/**
 * Reads running answers: every byte once, whatever the network does. `events` decodes the wire format, `answer` is the
 * state machine, `connection` maintains one connection to the server, `registry` holds the answers of this tab and puts
 * them into atoms, and `slots` shares the browser's few connections with other tabs. It imports nothing from the app.
 */
export { type Answer, emptyAnswer, type Thinking } from './answer'
export { Connection, type ConnectionState, defaultPolicy, type Ending } from './connection'
export {
  type AnswerCitation,
  type AnswerSource,
  type AnswerToolCall,
  type CallApproval,
  decodeCitations,
  httpUrl,
  type StepStatus,
  type Support,
  type ThreadTitle,
} from './events'
export { StreamFailure, waitingCode } from './failure'
export { browserFrames } from './frames'
export { type Change, type ChangeKind, changeKinds, type Proofreading, type TextRange } from './proofread'
export { AnswerStreams, type AnswerView, awaitedAnswer, type LiveAnswer } from './registry'
export { LockSlots, type SlotChannel } from './slots'
export { browserWake } from './wake'
