export {
  ApiError,
  errorMessage,
  errorsByField,
  firstErrorMessage,
  RequiredError,
  unlessGone,
} from './errors'
export { type Arguments, call, type Operation } from './http'
export { type Counted, listAll, type Page } from './pages'
export type * from './types'
