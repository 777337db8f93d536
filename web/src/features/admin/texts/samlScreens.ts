/** Single sign-on by SAML. */
export const saml = {
  title: 'シングルサインオン',
  edit: '設定を編集',
  readOnly: '設定を変更できるのは特権管理者だけです。',
  on: 'オン',
  off: 'オフ',
  status: '状態',
  onBody: 'メンバーは、組織の認証画面からログインします。',
  offBody: 'メンバーは、メールアドレスとパスワードでログインします。',
  otherBody: '組織ではOpenID Connectを使用しています。オンにすると、SAMLに切り替わります。',
  turnOn: 'オンにする',
  turnOff: 'オフにする',
  test: 'テストログイン',
  testing: '認証画面へ移動しています…',
  incomplete: 'IDプロバイダーの情報を設定すると、テストとオンへの切り替えができます。',
  updated: (date: string) => `最終更新 ${date}`,
  steps: {
    title: '設定の手順',
    items: [
      '下の「IDプロバイダーに登録する値」を、組織のIDプロバイダー（IdP）に登録します。',
      '「設定を編集」で、IDプロバイダーのメタデータを登録します。',
      '「テストログイン」で、受け取る値を確認します。',
      '「オンにする」を押すと、メンバーのログイン方法が切り替わります。',
    ],
  },
  sp: {
    title: 'IDプロバイダーに登録する値',
    lead: '組織のIDプロバイダーに、この値を登録してください。メタデータを読み込めるIDプロバイダーでは、ファイルまたはURLで登録できます。',
    entity: 'エンティティID',
    acs: '応答の送信先（ACS URL）',
    metadata: 'メタデータのURL',
    download: 'メタデータをダウンロード',
  },
  idp: {
    title: 'IDプロバイダーの情報',
    entity: 'エンティティID',
    sso: 'ログインURL（SSO URL）',
    url: 'メタデータのURL',
    read: (date: string) => `最後の読み込み ${date}（毎日更新）`,
    certificates: '署名証明書',
    subject: '発行対象',
    fingerprint: 'フィンガープリント（SHA-256）',
    notAfter: '有効期限',
    expired: '期限切れです',
    expiring: (days: number) => (days < 1 ? '残り1日未満' : `残り${days}日`),
  },
  attributes: {
    title: '属性と対象',
    email: 'メールアドレスの属性',
    emailEmpty: 'NameIDをメールアドレスとして使います',
    name: '名前の属性',
    nameEmpty: 'メールアドレスを名前として使います',
    domains: '対象のメールドメイン',
  },
  warnings: {
    metadata: (reason: string) =>
      `IDプロバイダーのメタデータを更新できませんでした。${reason}1時間おきにやり直します。`,
    expired: '署名証明書の有効期限が切れています。ログインできないため、新しい証明書を登録してください。',
    expiring: (date: string) =>
      `署名証明書の有効期限は${date}です。切れるとログインできなくなるため、新しい証明書を登録してください。`,
  },
  turningOn: {
    title: 'シングルサインオンをオンにしますか？',
    items: [
      'メンバーは、次から組織の認証画面でログインします。',
      '一般ユーザーと管理者は、パスワードでログインできなくなります。パスワードでログイン中の場合は、ログインし直しになります。',
      '対象のメールドメインの人が初めてログインすると、空きシートがあれば一般ユーザーとして追加されます。',
      '特権管理者は、これまでどおりパスワードでもログインできます（特権管理者用のログイン画面）。',
    ],
  },
  turningOff: {
    title: 'シングルサインオンをオフにしますか？',
    items: [
      'メンバーは、次からメールアドレスとパスワードでログインします。',
      'シングルサインオンでログイン中の人は、そのセッションが終わるまで利用を続けられます。',
      'シングルサインオンで追加されたメンバーは、パスワードがないため、次からログインできません。オフにした後、メンバーの一覧の「パスワードの招待を送信」で仮パスワードを送信してください。チャットは残ります。',
    ],
  },
  turnedOn: 'シングルサインオンをオンにしました。',
  turnedOff: 'シングルサインオンをオフにしました。',
  result: {
    title: 'テストログインの結果',
    success: 'ログインできることを確認しました。',
    failed: 'ログインできませんでした。',
    pending:
      'テストログインはまだ終わっていません。認証画面でのログインを終えると、ここに結果が表示されます。',
    outcome: (name: string, email: string) =>
      `シングルサインオンがオンのとき、この人は「${name}」（${email}）としてログインします。`,
    outcomeNew: 'まだメンバーでない場合は、空きシートがあれば一般ユーザーとして追加されます。',
    notSignedIn: 'このテストでは、実際のログインとメンバーの追加は行われていません。',
    nameId: 'NameID',
    email: 'メールアドレス',
    name: '名前',
    attributes: '受け取った属性',
    attribute: '属性',
    value: '値',
    none: '受け取った属性はありません。',
    again: 'もう一度テストする',
    close: '結果を閉じる',
  },
} as const

/** The form of SAML. */
export const samlEdit = {
  title: 'シングルサインオンの設定',
  back: 'シングルサインオンに戻る',
  source: 'IDプロバイダーの情報',
  ways: '登録の方法',
  wayNames: { url: 'URLで登録', metadata: 'メタデータで登録', fields: '項目ごとに入力' },
  url: 'メタデータのURL',
  urlHint: '保存すると読み込みます。その後も毎日読み直し、証明書の更新を自動で反映します。',
  xml: 'IDプロバイダーのメタデータ（XML）',
  xmlHint: 'XMLを貼り付けるか、ファイルを選択してください。256 KBまで',
  xmlKept: 'すでに登録されています。変更しない場合は、空のままにしてください。',
  file: 'XMLファイルを選択',
  fileTooBig: 'ファイルが大きすぎます。256 KBまでのファイルを選択してください。',
  fileUnreadable: 'ファイルを読み取れませんでした。',
  notXml: 'XMLとして読み取れません。IDプロバイダーからダウンロードしたメタデータか確認してください。',
  notMetadata:
    'IDプロバイダーのSAMLメタデータではないようです。サービスプロバイダー用のものでないか確認してください。',
  found: 'エンティティID',
  entity: 'エンティティID',
  sso: 'ログインURL（SSO URL）',
  certificates: '署名証明書',
  certificatesHint: 'PEM形式で貼り付けるか、ファイルを選択してください。複数ある場合は続けて貼り付けます。',
  certificatesKept: (count: string) =>
    `${count}件の証明書が登録されています。入力すると、すべて置き換わります。`,
  certificateFile: '証明書ファイルを選択',
  attributes: '受け取る属性',
  email: 'メールアドレスの属性',
  emailHint: '空の場合は、NameIDをメールアドレスとして使います。',
  name: '名前の属性',
  nameHint: '空の場合は、メールアドレスを名前として使います。',
  common: 'よく使われる値',
  domains: '対象のメールドメイン',
  domainsHint: '選んだドメインのメールアドレスを持つ人だけが、シングルサインオンでログインできます。',
  domainsNone: '組織のメールドメインが登録されていません。ご契約窓口にお問い合わせください。',
  domainsRequired: 'メールドメインを一つ以上選択してください。',
  save: '保存する',
  saved: 'シングルサインオンの設定を保存しました。',
  required: (label: string) => `${label}を入力してください。`,
  badUrl: 'https:// で始まるURLを入力してください。',
} as const

/** The maximum durations of sessions. */
export const sessionLimits = {
  title: 'ログインの有効期間',
  lead: '操作しないまま、またはログインしてから、この時間が過ぎると、もう一度ログインが必要です。すでにログインしている端末にも適用されます。',
  kinds: { single_sign_on: 'シングルサインオン', password: 'パスワード' },
  connection: '拡張機能などの接続',
  connectionNote:
    'ブラウザー拡張機能などの接続は、この時間使わないと、もう一度ログインが必要です。ログインからの時間には、接続を許可したときのログイン方法の設定が適用されます。',
  unused: '使わない時間',
  unusedFor: (time: string) => `使わない時間 ${time}`,
  idle: '操作しない時間',
  max: 'ログインからの時間',
  both: (idle: string, max: string) => `操作しない時間 ${idle}、ログインから ${max}`,
  minutes: (count: number) =>
    count % 1440 === 0 ? `${count / 1440}日` : count % 60 === 0 ? `${count / 60}時間` : `${count}分`,
  save: '保存する',
  saved: 'ログインの有効期間を変更しました。',
  notSaved: (why: string) => `ログインの有効期間を変更できませんでした。${why}`,
} as const

/** The members who need a second factor. */
export const factorPolicy = {
  title: '二段階認証',
  lead: 'パスワードでログインするメンバーに、認証アプリの確認コードを求めます。シングルサインオンのメンバーには、IDプロバイダーの設定が適用されます。',
  label: '二段階認証が必要なメンバー',
  policies: { optional: '任意（本人が設定）', administrators: '管理者', everybody: '全員' },
  hint: '次にパスワードでログインするときから適用されます。まだ設定していないメンバーは、そのときに設定します。',
  aws: 'AWSのユーザープールを使っているため、ユーザープールの設定が適用されます。',
  save: '二段階認証の設定を変更',
  saved: '二段階認証の設定を変更しました。',
  notSaved: (why: string) => `二段階認証の設定を変更できませんでした。${why}`,
} as const

/** The networks of members. */
export const addressRanges = {
  title: '接続元の制限',
  lead: '組織を利用できるネットワークを、社内やVPNなどに限ります。アプリ、API、ブラウザー拡張機能などの接続のそれぞれに決められます。Slackでの質問には適用されません。',
  any: '制限していません。どのネットワークからも利用できます。',
  uses: {
    ranges: 'アプリ',
    api_ranges: 'API（個人用アクセストークン）',
    connection_ranges: '接続（ブラウザー拡張機能など）',
  },
  sameAsApp: 'アプリと同じ',
  own: 'アプリとは別に決める',
  label: (use: string) => `${use}の利用を許可するIPアドレスの範囲`,
  ownHint: '1行に一つ、範囲またはIPアドレスを入力します。空にすると、どのネットワークからも利用できます。',
  hint: (address: string) =>
    `1行に一つ、範囲（例：203.0.113.0/24、2001:db8::/32）またはIPアドレスを入力します。空にすると、制限しません。現在の接続元：${address}`,
  save: '接続元の制限を変更',
  confirmTitle: '接続元を制限しますか？',
  confirmBody:
    'ほかのネットワークから利用しているメンバーは、すぐに利用できなくなります。範囲の外から試みられた利用は、監査ログに残ります。',
  confirm: '制限する',
  saved: '接続元の制限を変更しました。',
  notSaved: (why: string) => `接続元の制限を変更できませんでした。${why}`,
} as const
