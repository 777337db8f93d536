/** The threads that are shared within the organization. */
export const shares = {
  title: '共有リンク',
  lead: 'メンバーが組織内で共有しているチャットです。ログインしている組織のメンバーだけが、リンクから閲覧できます。',
  none: '共有されているチャットはありません。',
  name: 'チャット',
  owner: '共有した人',
  at: '共有した内容の日時',
  of: (title: string) => `「${title}」の`,
  end: '共有を終了',
  confirm: '共有を終了しますか？',
  confirmBody: (owner: string, title: string) =>
    `${owner}さんの「${title}」のリンクは開けなくなります。元のチャットは削除されません。`,
  ended: '共有を終了しました。',
  notEnded: '共有を終了できませんでした。',
} as const
