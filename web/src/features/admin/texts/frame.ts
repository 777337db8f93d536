/** The frame of the admin screens. */
export const layout = {
  title: '管理者画面',
  nav: '管理者画面のメニュー',
  contract: '契約',
  members: 'メンバー',
  groups: 'グループ',
  projects: 'プロジェクト',
  saml: 'シングルサインオン',
  scim: 'ユーザープロビジョニング',
  instructions: '組織の指示',
  models: 'モデル',
  notices: 'お知らせ',
  retention: 'チャットの保存期間',
  shares: '共有リンク',
  connections: '接続',
  extension: '拡張機能',
  slack: 'Slack',
  tools: 'ツール',
  feedback: '評価',
  audit: '監査ログ',
  state: '稼働状況',
} as const

/** Texts of several screens. */
export const common = {
  actions: '操作',
  loading: '読み込み中...',
  cancel: 'キャンセル',
  close: '閉じる',
  copyLabel: (label: string) => `${label}をコピー`,
  unset: '未設定',
  reset: '絞り込みを解除',
  emptyHint: '検索語を変えるか、絞り込みを解除してください。',
} as const

/** Saving as CSV. */
export const csv = {
  save: 'CSVで保存',
  failed: (why: string) => `CSVを保存できませんでした。${why}`,
} as const

/** The days of a filter. */
export const period = {
  label: '期間',
  from: '開始日',
  to: '終了日',
} as const

/** The pages of a list. */
export const paging = {
  label: 'ページ',
  range: (first: number, last: number, total: string) => `${first}〜${last}件（全${total}件）`,
  previous: '前へ',
  next: '次へ',
} as const
