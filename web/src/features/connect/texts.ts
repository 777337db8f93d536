/** The texts of the pages for connecting an app. */
export const texts = {
  home: 'Tsumugi スキル一覧',
  loading: '読み込み中...',
  title: 'アプリの接続',
  asks: (client: string) => `「${client}」が、Tsumugiへの接続を求めています。`,
  account: '接続するアカウント',
  scopes: '許可すると、このアプリは次のことができます。',
  leadsTo: (host: string) => {
    if (/^(127\.0\.0\.1|\[::1\]|localhost)(:\d+)?$/.test(host))
      return '許可すると、このコンピューターで動いているアプリに戻ります。'
    if (host.endsWith('.chromiumapp.org')) return '許可すると、このブラウザーの拡張機能に戻ります。'
    return `許可すると、${host} に移動します。`
  },
  later: '接続は、アカウント設定の「連携アプリ」でいつでも解除できます。',
  allow: '許可する',
  cancel: 'キャンセル',
  leaving: 'アプリに戻っています…',
  notAnswered: (why: string) => `接続できませんでした。${why}`,
  wrong: '接続を始められませんでした',
  wrongBody: (why: string) => `${why}アプリの設定を確認し、アプリからもう一度お試しください。`,
  device: {
    title: '端末の接続',
    lead: '接続する端末やアプリに表示されているコードを入力してください。',
    code: 'コード',
    required: 'コードを入力してください。',
    next: '次へ',
    sameCode: 'このコードが、端末に表示されているコードと同じことを確認してください。',
    asked: (at: string, where: string) => (where ? `${at}・${where}` : at),
    askedLabel: '接続を始めた日時と場所',
    warning:
      'ご自分で始めた接続でない場合は、許可しないでください。コードを他人から受け取った場合も同じです。',
    allowed: '接続を許可しました。端末やアプリの画面に戻ってください。',
    denied: '接続を許可しませんでした。この画面は閉じてかまいません。',
  },
} as const
