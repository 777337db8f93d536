export { TsumugiError } from './error.js'
export { TsumugiChatTransport, type TsumugiChatTransportOptions } from './transport.js'
