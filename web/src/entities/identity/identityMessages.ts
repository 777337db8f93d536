import { ApiError } from '@/lib/api'
import { IdentityError } from './identity'

/** The operation that the identity provider refused: some of its errors have a different meaning for each. */
export type Purpose =
  | 'sign-in'
  | 'new-password'
  | 'send-code'
  | 'confirm-code'
  | 'change-password'
  | 'factor'
  | 'recovery-code'
  | 'passkey'

const askAdmin = '組織の管理者にお問い合わせください。'
const tryLater = '時間をおいて、もう一度お試しください。'
const wrongPassword = 'メールアドレスまたはパスワードが正しくありません。'
const tooMany = `試行回数が上限に達しました。${tryLater}`
const mailSettings = `メールの送信設定に問題があるため、確認コードを送信できません。${askAdmin}`
const smsSettings = `SMSの送信設定に問題があるため、確認コードを送信できません。${askAdmin}`
const poolSettings = `ログインの設定に問題があります。${askAdmin}`
const noFactor = `このアカウントの認証アプリの設定が見つかりません。${askAdmin}`
const extension = `ログインの追加処理で問題が発生しました。${askAdmin}`

/** The message for each error of the identity provider, with the next step for the user. */
const messages: Readonly<Record<string, string>> = {
  NotAuthorizedException: wrongPassword,
  UserNotFoundException: wrongPassword,
  InvalidParameterException: '入力内容に使えない文字や誤りがあります。確認して、もう一度お試しください。',
  InvalidPasswordException: 'パスワードの条件を満たしていません。別のパスワードを入力してください。',
  LimitExceededException: tooMany,
  TooManyRequestsException: 'アクセスが集中しています。少し待ってから、もう一度お試しください。',
  TooManyFailedAttemptsException: tooMany,
  ServiceUnavailableException: 'サーバーが一時的に応答できません。少し待ってから、もう一度お試しください。',
  CodeMismatchException: '確認コードが正しくありません。届いたメールの6桁の数字を入力してください。',
  ExpiredCodeException: '確認コードが無効か、有効期限が切れています。コードを再送信してください。',
  UserNotConfirmedException:
    'アカウントの登録が完了していません。組織の管理者に招待メールの再送信を依頼してください。',
  PasswordResetRequiredException:
    'パスワードの再設定が必要です。「パスワードをお忘れの方」から再設定してください。',
  CodeDeliveryFailureException: `確認コードのメールを送信できませんでした。${tryLater}`,
  ResourceNotFoundException:
    'ログインの設定が見つかりません。画面を再読み込みしても解決しない場合は、組織の管理者にお問い合わせください。',
  ForbiddenException: `お使いの環境からの操作は許可されていません。${askAdmin}`,
  InternalErrorException: `サーバーで問題が発生しました。${tryLater}`,
  AliasExistsException: `このメールアドレスは、ほかのアカウントで使われています。${askAdmin}`,
  ConcurrentModificationException: 'ほかの操作と重なりました。もう一度お試しください。',
  InvalidUserPoolConfigurationException: poolSettings,
  UnsupportedOperationException: poolSettings,
  MFAMethodNotFoundException: noFactor,
  SoftwareTokenMFANotFoundException: noFactor,
  InvalidLambdaResponseException: extension,
  UnexpectedLambdaException: extension,
  UserLambdaValidationException: extension,
  InvalidSmsRoleAccessPolicyException: smsSettings,
  InvalidSmsRoleTrustRelationshipException: smsSettings,
  InvalidEmailRoleAccessPolicyException: mailSettings,
  PasswordHistoryPolicyViolationException: '以前使っていたパスワードです。別のパスワードを入力してください。',
  UnsupportedChallenge: `このアカウントのログインには、この画面で使えない認証方法（SMSなど）が必要です。${askAdmin}`,
  Unreachable: 'サーバーに接続できませんでした。通信環境を確認して、もう一度お試しください。',
}

const cannotReset = `このアカウントのパスワードは再設定できません。招待メールの仮パスワードでログインするか、${askAdmin}`

const wrongCode =
  '確認コードが正しくありません。認証アプリに表示されている6桁の数字を入力してください。解決しない場合は、端末の時刻を確認してください。'
const wrongRecoveryCode =
  '回復コードが正しくないか、使用済みです。まだ使っていない回復コードを入力してください。'

/** Errors with another meaning than at sign-in. */
const byPurpose: Readonly<Record<Purpose, Readonly<Record<string, string>>>> = {
  'sign-in': {},
  'new-password': {},
  'send-code': {
    NotAuthorizedException: cannotReset,
    InvalidParameterException: `このアカウントには確認コードを送信できません。${askAdmin}`,
    // The same message as for an unknown address, so as not to reveal which addresses exist.
    UserNotFoundException: 'メールアドレスを確認して、もう一度お試しください。',
  },
  'confirm-code': {
    NotAuthorizedException: cannotReset,
    UserNotFoundException: '確認コードが無効か、有効期限が切れています。コードを再送信してください。',
  },
  factor: {
    CodeMismatchException: wrongCode,
    EnableSoftwareTokenMFAException: wrongCode,
    ExpiredCodeException:
      'この確認コードは使用済みです。認証アプリの表示が次のコードに変わってから、入力してください。',
  },
  'recovery-code': {
    CodeMismatchException: wrongRecoveryCode,
    ExpiredCodeException: wrongRecoveryCode,
  },
  passkey: {
    NotAuthorizedException:
      'このパスキーではログインできません。ほかのパスキーか、パスワードでログインしてください。',
    WebAuthnChallengeNotFoundException: '時間が経過したため、最初からやり直してください。',
    WebAuthnCredentialNotSupportedException:
      'このパスキーは登録できません。ほかの端末またはブラウザーでお試しください。',
    InvalidParameterException: 'このパスキーは、すでに登録されています。',
    LimitExceededException: '登録できるパスキーは10個までです。使わないパスキーを削除してください。',
  },
  'change-password': { NotAuthorizedException: '現在のパスワードが正しくありません。' },
}

/** Cognito has one name for many refusals. Only the message distinguishes them. */
const byWords: ReadonlyArray<readonly [name: string, words: RegExp, message: string]> = [
  ['NotAuthorizedException', /attempts exceeded/i, tooMany],
  ['NotAuthorizedException', /user is disabled/i, `このアカウントは一時停止中です。${askAdmin}`],
  [
    'NotAuthorizedException',
    /temporary password has expired/i,
    '仮パスワードの有効期限が切れています。組織の管理者に招待メールの再送信を依頼してください。',
  ],
  [
    'NotAuthorizedException',
    /requires a second factor/i,
    '組織で二段階認証が必須になっているため、解除できません。',
  ],
  ['NotAuthorizedException', /access token/i, 'ログインの有効期間が終了しました。ログインし直してください。'],
  [
    'NotAuthorizedException',
    /invalid session|session is expired/i,
    '時間が経過したため、最初からやり直してください。',
  ],
  [
    'InvalidPasswordException',
    /commonly used/i,
    'よく使われる、推測されやすいパスワードです。別のパスワードを入力してください。',
  ],
  [
    'InvalidPasswordException',
    /email address or name/i,
    'メールアドレスや名前を含むパスワードは使えません。別のパスワードを入力してください。',
  ],
  [
    'InvalidPasswordException',
    /previous one/i,
    'これまでと同じパスワードです。別のパスワードを入力してください。',
  ],
  ['InvalidPasswordException', /leading or trailing/i, 'パスワードの先頭と末尾には、空白を使えません。'],
  ['InvalidPasswordException', /too long/i, 'パスワードは256文字以内で入力してください。'],
  ['InvalidPasswordException', /control characters/i, 'パスワードに使えない文字が含まれています。'],
]

/** Errors of the browser while it asks for a passkey. */
const ofBrowser: Readonly<Record<string, string>> = {
  NotAllowedError: 'パスキーの操作が取り消されたか、時間切れになりました。もう一度お試しください。',
  InvalidStateError: 'この端末のパスキーは、すでに登録されています。',
  NotSupportedError: 'この端末またはブラウザーでは、パスキーを使えません。',
  SecurityError: `このアドレスでは、パスキーを使えません。${askAdmin}`,
}

/** The message for an error of a call to the identity provider. */
export function identityMessage(cause: unknown, purpose: Purpose = 'sign-in'): string {
  const fallback = messages.InternalErrorException as string
  if (cause instanceof ApiError) return cause.offline ? (messages.Unreachable as string) : cause.detail
  if (cause instanceof DOMException) return ofBrowser[cause.name] ?? fallback
  if (!(cause instanceof IdentityError)) return fallback
  const said = byWords.find(([name, words]) => name === cause.name && words.test(cause.message))
  return said?.[2] ?? byPurpose[purpose][cause.name] ?? messages[cause.name] ?? fallback
}

/** Whether the new password was refused, not another part of the request. */
export function isAboutNewPassword(cause: unknown): boolean {
  return cause instanceof IdentityError && /Password(HistoryPolicyViolation)?Exception$/.test(cause.name)
}

/** Whether the challenge to choose a new password has expired: it is valid for three minutes. */
export function isChallengeOver(cause: unknown): boolean {
  return (
    cause instanceof IdentityError &&
    cause.name === 'NotAuthorizedException' &&
    /invalid session|session is expired/i.test(cause.message)
  )
}
