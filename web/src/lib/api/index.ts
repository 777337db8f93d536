export {
  ApiError,
  asApiError,
  errorMessage,
  errorsByField,
  firstErrorMessage,
  RequiredError,
  readProblem,
} from './errors'
export { type Arguments, call, type Operation } from './http'
export { type Counted, listAll, type Page } from './pages'
export type * from './types'
