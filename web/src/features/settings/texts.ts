/** The words of the settings. */
export const texts = {
  home: 'スキル一覧へ',
  nav: '設定',
  title: 'パスワードの変更',
  current: '現在のパスワード',
  proposed: '新しいパスワード',
  submit: '変更する',
  back: 'スキル一覧へ戻る',
  currentRequired: '現在のパスワードを入力してください。',
  rulesUnmet: 'パスワードの条件をすべて満たしてください。',
  same: '現在と異なるパスワードを入力してください。',
  done: 'パスワードを変更しました。',
  federated: 'このアカウントのパスワードは、組織の認証画面で管理されています。',
  sessions: {
    title: 'ログイン中の端末',
    lead: 'このアカウントでログインしている端末です。心当たりのない端末はログアウトし、パスワードを変更してください。',
    leadFederated:
      'このアカウントでログインしている端末です。心当たりのない端末はログアウトし、組織の管理者にお知らせください。',
    loading: '読み込み中...',
    current: 'この端末',
    unknown: '不明な端末',
    used: (at: string, address: string | undefined) =>
      address ? `最終利用 ${at}・接続元 ${address}` : `最終利用 ${at}`,
    began: (at: string, way: string) => `ログイン ${at}・${way}`,
    ways: { cognito: 'パスワード', federated_idp: 'シングルサインオン' },
    end: 'ログアウト',
    of: (device: string) => `${device}を`,
    endOthers: 'ほかのすべての端末からログアウト',
    ended: 'ログアウトしました。',
    notEnded: (why: string) => `ログアウトできませんでした。${why}`,
  },
} as const
