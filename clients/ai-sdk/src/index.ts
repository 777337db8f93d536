export type { ToolApproval, ToolDecision } from './approval.js'
export { TsumugiError } from './error.js'
export { TsumugiChatTransport, type TsumugiChatTransportOptions } from './transport.js'
