export type {
  ToolApproval,
  ToolDecision,
  ToolInput,
  ToolInputField,
  ToolInputForm,
  ToolInputResponse,
} from './approval.js'
export { TsumugiError } from './error.js'
export { TsumugiChatTransport, type TsumugiChatTransportOptions } from './transport.js'
