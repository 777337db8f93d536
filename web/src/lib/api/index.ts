export type { Page } from './client'
export * as api from './client'
export {
  ApiError,
  asApiError,
  errorMessage,
  errorsByField,
  firstErrorMessage,
  RequiredError,
  readProblem,
} from './errors'
export type * from './types'
