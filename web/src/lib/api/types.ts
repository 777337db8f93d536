import type {
  AuthType,
  ManagedNotification,
  NotificationPutRequest,
  OIDCCheck,
  OIDCConfig,
  OIDCConfigPutRequest,
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
export type OidcCheck = OIDCCheck
export type OidcConfig = OIDCConfig
export type OidcConfigPutRequest = OIDCConfigPutRequest
export type SamlConfig = SAMLConfig
export type SamlConfigPutRequest = SAMLConfigPutRequest
export type SamlTest = SAMLTest
export type UserSession = Session
