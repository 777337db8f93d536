/** The words of the settings. */
export const texts = {
  home: 'スキル一覧へ',
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
} as const
