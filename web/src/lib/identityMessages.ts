import { ApiError } from './api'
import { IdentityError } from './identity'

const mail = 'メールを送信できませんでした。時間をおいてもう一度お試しください。'
const settings = 'サインインの設定に問題があります。組織の管理者にお問い合わせください。'
const tooMany = '試行回数が上限を超えました。しばらく時間をおいてからお試しください。'
const fallback = 'うまく処理できませんでした。時間をおいてもう一度お試しください。'

/** What a person reads for each error of the identity provider. */
const messages: Readonly<Record<string, string>> = {
  NotAuthorizedException: 'メールアドレスまたはパスワードが正しくありません。',
  UserNotFoundException: 'メールアドレスまたはパスワードが正しくありません。',
  InvalidParameterException: '入力内容を確認してください。',
  InvalidPasswordException: 'パスワードが条件を満たしていません。',
  LimitExceededException: tooMany,
  TooManyRequestsException: tooMany,
  TooManyFailedAttemptsException: tooMany,
  CodeMismatchException: '確認コードが正しくありません。',
  ExpiredCodeException: '確認コードの有効期限が切れています。コードをもう一度送信してください。',
  UserNotConfirmedException: 'アカウントの確認が済んでいません。招待メールをご確認ください。',
  PasswordResetRequiredException: 'パスワードの再設定が必要です。組織の管理者にお問い合わせください。',
  CodeDeliveryFailureException: mail,
  ResourceNotFoundException: settings,
  ForbiddenException: 'この操作は許可されていません。組織の管理者にお問い合わせください。',
  InternalErrorException: fallback,
  InvalidLambdaResponseException: settings,
  UnexpectedLambdaException: settings,
  UserLambdaValidationException: settings,
  InvalidSmsRoleAccessPolicyException: settings,
  InvalidSmsRoleTrustRelationshipException: settings,
  InvalidEmailRoleAccessPolicyException: settings,
  Unreachable: 'サーバーに接続できませんでした。通信環境を確認して、もう一度お試しください。',
}

/** The message for whatever a call to the identity provider threw. */
export function identityMessage(cause: unknown): string {
  if (cause instanceof IdentityError) {
    // Cognito names a lock-out like a wrong password; only its own words tell them apart.
    if (/attempts exceeded/i.test(cause.message)) return tooMany
    if (/session|challenge/i.test(cause.message) && /expired|invalid/i.test(cause.message)) {
      return '時間が経ったため、はじめからやり直してください。'
    }
    return messages[cause.name] ?? fallback
  }
  if (cause instanceof ApiError) return cause.offline ? (messages.Unreachable ?? fallback) : cause.detail
  return fallback
}
