import { saml, samlEdit } from './samlScreens'

/** The protocols for single sign-on. */
export const protocols = {
  label: 'シングルサインオンの方式',
  saml: 'SAML 2.0',
  oidc: 'OpenID Connect',
  used: '使用中',
} as const

/** Single sign-on by OpenID Connect. */
export const oidc = {
  ...saml,
  offBody: 'メンバーは、メールアドレスとパスワードでログインします。',
  otherBody: '組織ではSAMLを使用しています。オンにすると、OpenID Connectに切り替わります。',
  test: '接続テスト',
  testing: '確認しています…',
  incomplete: 'IDプロバイダーの情報を設定すると、テストとオンへの切り替えができます。',
  checked: '接続テストの結果',
  checks: {
    discovery: 'ディスカバリー文書',
    keys: '署名の公開鍵',
    client: 'クライアントIDとクライアントシークレット',
  },
  ok: '問題なし',
  wrong: '要確認',
  steps: {
    title: '設定の手順',
    items: [
      '組織のIDプロバイダーに、下の「IDプロバイダーに登録する値」を使ってアプリ（クライアント）を登録します。',
      '「設定を編集」で、発行者、クライアントID、クライアントシークレットを登録します。',
      '「接続テスト」で、IDプロバイダーに接続できることを確認します。',
      '「オンにする」を押すと、メンバーのログイン方法が切り替わります。',
    ],
  },
  rp: {
    title: 'IDプロバイダーに登録する値',
    lead: '組織のIDプロバイダーに、この値を登録してください。',
    redirect: 'リダイレクトURI',
    logout: 'バックチャネルログアウトURI',
  },
  idp: {
    title: 'IDプロバイダーの情報',
    issuer: '発行者（Issuer）',
    clientId: 'クライアントID',
    secret: 'クライアントシークレット',
    secretSet: '登録済み',
    scopes: 'スコープ',
  },
  claims: {
    title: 'クレームと対象',
    email: 'メールアドレスのクレーム',
    name: '名前のクレーム',
    nameEmpty: 'メールアドレスを名前として使います',
    groups: 'グループのクレーム',
    groupsEmpty: 'グループは設定しません',
    domains: '対象のメールドメイン',
  },
  request: {
    title: '認証の条件',
    prompt: 'prompt',
    acr: 'acr_values',
    maxAge: 'max_age',
    seconds: (count: string) => `${count}秒`,
    none: '指定しません',
  },
} as const

/** The form of OpenID Connect. */
export const oidcEdit = {
  ...samlEdit,
  title: 'OpenID Connectの設定',
  issuer: '発行者（Issuer）',
  issuerHint:
    '/.well-known/openid-configuration より前の部分です。末尾の「/」も含めて、IDプロバイダーの表示と同じ値を入力します。',
  clientId: 'クライアントID',
  secret: 'クライアントシークレット',
  secretHint: 'シークレットを使わないクライアントでは、空のままにしてください。',
  secretKept: '登録されています。変更しない場合は、空のままにしてください。',
  removeSecret: 'クライアントシークレットを削除する',
  claims: '受け取るクレーム',
  email: 'メールアドレスのクレーム',
  emailHint: 'IDトークンまたはUserInfoエンドポイントから受け取ります。',
  name: '名前のクレーム',
  nameHint: '空の場合は、メールアドレスを名前として使います。',
  groups: 'グループのクレーム',
  groupsHint:
    '入力すると、ログインのたびに、この値のグループに所属させます。ないグループは作成します。権限は変わりません。',
  scopes: 'スコープ',
  scopesHint: '空白で区切ります。openidは必須です。',
  scopesMissing: 'openidを含めてください。',
  request: '認証の条件',
  prompt: 'prompt',
  prompts: {
    '': '指定しない',
    login: 'login（毎回認証する）',
    select_account: 'select_account（アカウントを選ぶ）',
    consent: 'consent（毎回同意を求める）',
  } as Record<string, string>,
  acr: 'acr_values',
  acrHint: '空白で区切ります。IDトークンのacrがこの値のいずれかでない場合、ログインを拒否します。',
  maxAge: 'max_age（秒）',
  maxAgeHint: '認証からこの時間が過ぎている場合、もう一度認証を求めます。空の場合は指定しません。',
  maxAgeBad: '0以上2,592,000以下の秒数を入力してください。',
  saved: 'OpenID Connectの設定を保存しました。',
} as const
