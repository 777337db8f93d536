import type {
  AuthType,
  ManagedNotification,
  NotificationPutRequest,
  SAMLConfig,
  SAMLConfigPutRequest,
  SAMLTest,
  Session,
  User,
} from './types.gen'

export type * from './types.gen'

// The records of the API that have other names in the app.
export type AuthTypeAnswer = AuthType
export type ManagedNotice = ManagedNotification
export type Member = User
export type NoticeDraft = NotificationPutRequest
export type SamlConfig = SAMLConfig
export type SamlConfigPutRequest = SAMLConfigPutRequest
export type SamlTest = SAMLTest
export type UserSession = Session
