export type { Page } from './client'
export * as api from './client'
export { ApiError, asApiError, assertRequired, RequiredError, readProblem } from './errors'
export type * from './types'
