/** The connections of the organization's members. */
export const connectionsScreen = {
  connections: {
    title: '接続',
    lead: 'メンバーのアカウントに接続しているアプリと、メンバーが作成した個人用アクセストークンです。',
    none: '接続しているアプリはありません。',
    name: '接続',
    owner: 'メンバー',
    used: '最終利用',
    began: '開始',
    actions: '操作',
    personal: '個人用アクセストークン',
    unused: '未使用',
    of: (name: string) => `「${name}」の`,
    end: '接続を解除',
    confirm: '接続を解除しますか？',
    confirmBody: (owner: string, name: string) => `${owner}さんの「${name}」は、すぐに使えなくなります。`,
    ended: '接続を解除しました。',
    notEnded: '接続を解除できませんでした。',
    policy: {
      title: '個人用アクセストークン',
      lead: 'メンバーがスクリプトなどからAPIを使うための鍵です。禁止すると、作成済みのトークンもすべて削除されます。',
      allowed: '許可しています',
      forbidden: '禁止しています',
      allow: '許可する',
      forbid: '禁止する',
      confirm: '個人用アクセストークンを禁止しますか？',
      confirmBody:
        '作成済みのトークンはすべて削除され、使用しているプログラムはすぐに利用できなくなります。元に戻すことはできません。',
      saved: '設定を変更しました。',
      notSaved: '設定を変更できませんでした。',
    },
  },
} as const
