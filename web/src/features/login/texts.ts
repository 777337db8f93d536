/** The words of the sign-in pages. */
export const texts = {
  title: 'サインイン',
  email: 'メールアドレス',
  emailPlaceholder: 'name@example.co.jp',
  password: 'パスワード',
  next: '次へ',
  signIn: 'サインイン',
  otherAddress: '別のメールアドレスを使う',
  signingInAs: 'サインインするアカウント',
  emailRequired: 'メールアドレスを入力してください。',
  emailInvalid: 'メールアドレスの形式を確認してください。',
  passwordRequired: 'パスワードを入力してください。',
  federated: {
    body: 'このアカウントは、組織のシングルサインオンを使います。組織の認証画面に移動します。',
    go: '組織の認証画面へ',
  },
  newPassword: {
    title: '新しいパスワードの設定',
    body: '初めてのサインインです。これから使うパスワードを決めてください。',
    label: '新しいパスワード',
    submit: '設定してサインイン',
    rulesUnmet: 'パスワードの条件をすべて満たしてください。',
  },
  signedOut: {
    title: 'ログアウトしました',
    body: 'ご利用ありがとうございました。共用の端末では、ブラウザーの画面も閉じてください。',
    again: 'もう一度サインイン',
  },
  home: 'トップページへ',
} as const
