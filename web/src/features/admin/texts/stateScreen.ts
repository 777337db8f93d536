import type { ServiceID, ServiceLevel } from '@/lib/api'

/** The texts of a service: its name, the sentences for the states that it can have, and the page of its settings. */
interface ServiceTexts extends Partial<Record<ServiceLevel | 'unused', string>> {
  readonly name: string
  readonly page?: { readonly to: string; readonly label: string }
}

const operator = '続くときは、サーバーの運用担当者に連絡してください。'

/** The screen of the state of the services that the organization uses. */
export const state = {
  title: '稼働状況',
  lead: 'この組織が使うサービスの状態です。最大1分前の結果を表示します。',
  again: '再確認',
  levels: { ok: '正常', warning: '注意', failure: '異常', unused: '未設定' },
  services: {
    model: {
      name: '回答のモデル',
      ok: '標準のモデルと、利用を許可したモデルを使えます。',
      warning:
        '利用を許可したモデルの一部が応答していません。モデルの設定で、ほかのモデルだけを許可できます。',
      failure: `標準のモデルが応答していません。モデルの設定で、ほかのモデルを標準にできます。${operator}`,
      unused:
        'モデルが接続されていないため、ファイルの抜粋などの簡単な回答だけができます。接続は、サーバーの運用担当者に依頼してください。',
      page: { to: '/admin/model', label: 'モデルの設定' },
    },
    embedding: {
      name: '意味によるファイルの検索',
      ok: '言葉が違っても、意味の近い箇所を探せます。',
      warning: `現在は、言葉の一致だけで探しています。回答は続けられます。${operator}`,
      unused: 'ファイルの該当箇所を、言葉の一致だけで探します。',
    },
    'web-search': {
      name: 'ウェブ検索',
      ok: 'ウェブを検索して回答できます。',
      failure: `最後の検索に失敗しました。${operator}`,
      unused: 'ウェブ検索のスキルは使えません。',
    },
    files: {
      name: 'ファイルの保存',
      ok: 'ファイルを保存し、読み取れます。',
      failure:
        'ファイルをアップロードできず、ファイルを使った質問にも回答できません。サーバーの運用担当者に連絡してください。',
    },
    mail: {
      name: 'メールの送信',
      ok: '招待や確認コードを送れます。',
      failure:
        '招待や確認コードを送れません。サーバーの運用担当者に連絡し、直ったあとにメンバーの画面から招待を再送してください。',
      unused: '招待や確認コードは送られません。内容は、サーバーの運用担当者に確認してください。',
      page: { to: '/admin/organization/member', label: 'メンバー' },
    },
    slack: {
      name: 'Slack',
      ok: 'ワークスペースに接続しています。',
      failure:
        '接続できないか、権限が足りません。Slackの設定で接続を確認し、表示された項目を直してください。',
      unused: 'ワークスペースに接続していません。',
      page: { to: '/admin/slack', label: 'Slackの設定' },
    },
    'single-sign-on': {
      name: 'シングルサインオンの証明書',
      ok: 'IDプロバイダーの証明書は、30日以上有効です。',
      warning: '証明書の期限が30日以内に切れます。IDプロバイダーの新しいメタデータを登録してください。',
      failure:
        '証明書の期限が切れたため、シングルサインオンでログインできません。IDプロバイダーの新しいメタデータを登録してください。',
      unused: 'シングルサインオンを使っていません。',
      page: { to: '/admin/saml', label: 'シングルサインオンの設定' },
    },
  } as Record<ServiceID, ServiceTexts>,
} as const
