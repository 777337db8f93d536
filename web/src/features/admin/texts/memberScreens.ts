import type { MemberRemoval, Role } from '@/lib/api'
import { formatNumber } from '@/lib/ui/numbers'
import { invitationResults } from './names'

/** The list of the members. */
export const members = {
  title: 'メンバー',
  seats: (used: string, limit: string) => `${limit}シートのうち${used}シートを使用中`,
  seatsLeft: (count: string) => `（残り${count}シート）`,
  seatsFull: '（空きシートはありません）',
  invite: 'メンバーを招待',
  search: '名前またはメールアドレスで検索',
  role: '役割',
  state: '状態',
  allRoles: 'すべての役割',
  allStates: 'すべての状態',
  table: 'メンバーの一覧',
  name: '名前',
  tokens: '今月のトークン',
  tokensOf: (used: string, limit: string) => `${used} / ${limit}`,
  lastSignIn: '最終ログイン',
  you: 'あなた',
  never: 'まだありません',
  invitedAt: (date: string) => `${date}に招待`,
  menu: (name: string) => `${name}さんの操作`,
  edit: '編集',
  resend: '招待メールを再送',
  givePassword: 'パスワードの招待を送信',
  unlink: 'シングルサインオンの連携を解除',
  signOut: 'すべての端末からログアウト',
  resetFactor: '二段階認証をリセット',
  factor: '二段階認証あり',
  resetRequested: (name: string) => `${name}さんがリセットを申請中`,
  factorReset: (name: string) => `${name}さんの二段階認証をリセットしました。`,
  factorRequested: (name: string) =>
    `${name}さんの二段階認証のリセットを申請しました。24時間以内に、別の管理者が同じ操作をするとリセットされます。`,
  factorNotReset: (name: string, why: string) => `${name}さんの二段階認証をリセットできませんでした。${why}`,
  remove: '削除',
  found: (count: string) => `${count}名のメンバー`,
  empty: '条件に合うメンバーはいません。',
  sending: {
    again: {
      sent: (name: string) => `${name}さんに招待メールを再送しました。`,
      notSent: (name: string, why: string) => `${name}さんに招待メールを再送できませんでした。${why}`,
    },
    password: {
      sent: (name: string) => `${name}さんにパスワードの招待を送信しました。`,
      notSent: (name: string, why: string) => `${name}さんにパスワードの招待を送信できませんでした。${why}`,
    },
  },
  signedOut: (name: string) => `${name}さんをすべての端末からログアウトしました。`,
  notSignedOut: (name: string, why: string) => `${name}さんをログアウトできませんでした。${why}`,
  unlinked: (name: string) => `${name}さんの連携を解除しました。`,
  notUnlinked: (name: string, why: string) => `${name}さんの連携を解除できませんでした。${why}`,
  removed: (name: string) => `${name}さんを削除しました。`,
  notRemoved: (name: string, why: string) => `${name}さんを削除できませんでした。${why}`,
  why: {
    self: 'ご自身の情報は変更できません。ほかの特権管理者に依頼してください。',
    admin: '管理者と特権管理者を変更できるのは、特権管理者だけです。',
    grant: '管理者の役割を付けられるのは、特権管理者だけです。',
    system: 'システム管理者は、この画面では変更できません。',
  },
} as const

/** The form of a member. */
export const editing = {
  title: (name: string) => `${name}さんの編集`,
  email: 'メールアドレス',
  signIn: 'ログイン方法',
  password: 'パスワード',
  federated: 'シングルサインオン',
  name: '名前',
  role: '役割',
  state: '状態',
  stateHint: '「停止中」にすると、すぐにログインできなくなり、シートが空きます。チャットは残ります。',
  invitedHint: 'まだログインしていません。「停止中」にすると、招待は無効になり、シートが空きます。',
  roleHints: {
    'general-user': 'スキルを利用できます。',
    'organization-admin': '一般ユーザーの招待と管理、契約と監査ログの確認ができます。',
    'organization-super-admin': 'すべてのメンバーの管理と、シングルサインオンの設定ができます。',
    'system-admin': '',
  } satisfies Record<Role, string>,
  limit: {
    label: '月の上限',
    hint: '1か月に利用できるトークン数です。毎月1日（日本時間）にリセットされます。',
    byDefault: (limit: string | undefined) =>
      limit === undefined ? '組織の上限に従う' : `組織の上限に従う（${limit}）`,
    own: 'この人の上限を決める',
    none: '制限なし',
    tokens: 'この人のトークン数',
    count: (tokens: string) => `${tokens}トークン`,
    wrong: '1以上1,000,000,000,000以下の数を入力してください。',
  },
  save: '保存する',
  nameRequired: '名前を入力してください。',
  saved: (name: string) => `${name}さんの情報を変更しました。`,
} as const

/** The monthly limit of each member. */
export const memberLimit = {
  label: '1人あたりの月の上限：',
  none: '制限なし',
  count: (tokens: string) => `${tokens}トークン`,
  edit: '変更',
  title: '1人あたりの月の上限',
  lead: '1人が1か月に利用できるトークン数です。上限に達した人は、翌月1日（日本時間）まで新しい質問ができません。80%と100%に達したときに、本人にお知らせします。特定の人の上限は、その人の編集で決められます。',
  kind: '上限',
  limited: '上限を決める',
  tokens: '1人あたりのトークン数',
  wrong: '1以上1,000,000,000,000以下の数を入力してください。',
  save: '保存する',
  saved: '1人あたりの月の上限を変更しました。',
  notSaved: (why: string) => `変更できませんでした。${why}`,
} as const

/** The question before inviting a member to set a password. */
export const givingPassword = {
  title: (name: string) => `${name}さんにパスワードの招待を送信しますか？`,
  body: (name: string, email: string) =>
    `${name}さん（${email}）に、仮パスワードを記載した招待メールを送信します。パスワードを設定すると、これまでのチャットをそのまま利用できます。`,
  hint: 'シングルサインオンでログイン中のセッションは終了します。',
  submit: '送信する',
} as const

/** The question before ending the sessions of a member. */
export const signingOut = {
  title: (name: string) => `${name}さんをすべての端末からログアウトしますか？`,
  body: (name: string, email: string) =>
    `${name}さん（${email}）のログインを、すべての端末ですぐに終了します。${name}さんは、もう一度ログインすると利用を続けられます。`,
  hint: '利用を止める場合は、編集で状態を「停止中」にしてください。',
  submit: 'ログアウトする',
} as const

/** The question before unlinking a member from the identity provider. */
export const unlinking = {
  title: (name: string) => `${name}さんの連携を解除しますか？`,
  body: (name: string, email: string) =>
    `${name}さん（${email}）と、IDプロバイダーの利用者との連携を解除します。${name}さんのログインは、すべての端末で終了します。`,
  hint: '次にシングルサインオンでログインした人が、メールアドレスであらためて連携されます。IDプロバイダーの登録を先に確認してください。',
  submit: '解除する',
} as const

/** The question before resetting a member's second factor. */
export const resettingFactor = {
  title: (name: string) => `${name}さんの二段階認証をリセットしますか？`,
  body: (name: string, email: string) =>
    `${name}さん（${email}）の認証アプリ、パスキー、回復コードを無効にし、ログインをすべての端末で終了します。本人からの依頼であることを、先に確認してください。`,
  hint: '特権管理者と、30日以内に特権管理者だった人のリセットには、管理者2名（うち1名は特権管理者）の操作が必要です。',
  submit: 'リセットする',
} as const

/** The question before removing a member. */
export const removing = {
  title: (name: string) => `${name}さんを削除しますか？`,
  body: (name: string, email: string) =>
    `${name}さん（${email}）を組織から削除します。次のデータは削除され、元に戻すことはできません。`,
  hint: '本人に必要なデータがあれば、削除する前に、本人が「アカウント設定」の「データの書き出し」で保存できます。一時的に利用を止めるだけの場合は、編集で状態を「停止中」にしてください。',
  submit: '削除する',
  deleted: ({ threads, files, skills, shares }: MemberRemoval) => [
    `チャット ${formatNumber(threads)}件（質問、回答、画像を含みます）`,
    `チャットの共有リンク ${formatNumber(shares)}件`,
    `ファイル ${formatNumber(files)}件`,
    `自分専用のスキル ${formatNumber(skills)}件`,
    '一時チャット、お気に入り、回答の評価、連携アプリの接続、Slackの連携',
  ],
  left: '組織に公開したスキル、掲載したお知らせ、利用量、監査ログ、Slackに投稿された質問と回答は残ります。',
  kept: '次の組織のスキルは、このメンバーのファイルを使っています。これらのファイルはスキルに残り、回答に使われます。',
  keptFiles: (skill: string, files: readonly string[]) => `${skill}：${files.join('、')}`,
  failed: '削除されるデータを確認できませんでした。閉じて、もう一度お試しください。',
} as const

/** The dialog that invites members. */
export const inviting = {
  title: 'メンバーを招待',
  ways: '招待の方法',
  one: '1名ずつ',
  many: 'まとめて',
  email: 'メールアドレス',
  emailPlaceholder: 'hanako@example.co.jp',
  name: '名前',
  namePlaceholder: '鈴木 花子',
  role: '役割',
  roleWhere: '役割の列がないときの役割',
  lead: '招待メールが届き、本人が最初にログインすると利用中になります。',
  submit: '招待する',
  submitMany: (count: string) => `${count}名を招待する`,
  sending: (done: string, all: string) => `${all}名のうち${done}名に送信しました…`,
  list: '招待する人の一覧',
  listHint:
    '1行に1名です。表計算ソフトの行をそのまま貼り付けられます。列は「メールアドレス、名前、役割」の順でなくても構いません。',
  listPlaceholder: 'hanako@example.co.jp, 鈴木 花子, 一般ユーザー\ntaro@example.co.jp, 山田 太郎, 管理者',
  file: 'CSVファイルを選択',
  fileHint: 'CSVまたはテキスト（UTF-8、Shift_JIS）、1 MBまで',
  fileRead: (name: string) => `${name}を読み込みました。`,
  fileTooBig: 'ファイルが大きすぎます。1 MBまでのファイルを選択してください。',
  fileUnreadable: 'ファイルを読み取れませんでした。CSVまたはテキストのファイルを選択してください。',
  preview: '送信前の確認',
  ready: (count: string) => `${count}名に送信できます。`,
  wrong: (count: string) => `${count}行に誤りがあります。誤りのある行には送信されません。`,
  overSeats: (left: string) => `空きシートは${left}シートです。不足する分の招待は送信されません。`,
  line: '行',
  problem: '確認',
  good: '送信できます',
  assumedName: '名前がないため、アドレスの@より前を使います',
  errors: {
    noEmail: 'メールアドレスがありません。',
    badEmail: 'メールアドレスの形式が正しくありません。',
    several: 'メールアドレスが2件以上あります。1行に1名ずつ入力してください。',
    longName: '名前は100文字以内で入力してください。',
    badName: '名前に使えない文字が含まれています。',
    badRole: (role: string) => `「${role}」という役割はありません。`,
    mayNot: '管理者の役割を付けられるのは、特権管理者だけです。',
    twice: (line: number) => `${line}行目と同じアドレスです。`,
    tooMany: (max: string) => `一度に招待できるのは${max}名までです。`,
  },
  emailRequired: 'メールアドレスを入力してください。',
  nameRequired: '名前を入力してください。',
  results: invitationResults,
  refused: '受け付けられませんでした',
  unsent: 'まだ送信していません',
  done: '招待の結果',
  summary: (invited: string, all: string) => `${all}名のうち${invited}名を招待しました。`,
  result: '結果',
  retryFailed: (count: string) => `送信できなかった${count}名にもう一度送信`,
  goOn: (count: string) => `残りの${count}名に送信`,
  more: '続けて招待する',
  invited: (name: string) => `${name}さんを招待しました。`,
} as const
