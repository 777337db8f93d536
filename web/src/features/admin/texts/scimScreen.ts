/** Provisioning by SCIM. */
export const scimScreen = {
  scim: {
    title: 'ユーザープロビジョニング（SCIM）',
    lead: '組織のIDプロバイダーから、メンバーの追加、変更、停止と、グループの管理を自動で行います。役割は変わりません。',
    readOnly: 'トークンを作成、失効できるのは特権管理者だけです。',
    steps: {
      title: '設定の手順',
      items: [
        'メンバーがログインできるように、先にシングルサインオンを設定します。',
        '「トークンを作成」でトークンを作成し、下のアドレスと一緒に、組織のIDプロバイダーに登録します。',
        'IDプロバイダーで接続をテストし、対象のユーザーとグループを割り当てます。',
        '「最近の呼び出し」で、エラーがないことを確認します。',
      ],
    },
    connection: {
      title: 'IDプロバイダーに登録する値',
      lead: '接続元の制限は、IDプロバイダーからの呼び出しには適用されません。',
      address: 'アドレス（ベースURL）',
    },
    tokens: {
      title: 'トークン',
      lead: (max: number) =>
        `${max}件まで作成できます。切り替えるときは、新しいトークンを登録してから、古いトークンを失効させます。`,
      create: 'トークンを作成',
      full: (max: number) =>
        `トークンは${max}件あります。作成するには、使わないトークンを失効させてください。`,
      none: 'トークンはまだありません。',
      name: '名前',
      nameHint: 'どのIDプロバイダーに登録するかが分かる名前にします。',
      nameRequired: '名前を入力してください。',
      submit: '作成する',
      created: '作成',
      by: (name: string) => `${name}さん`,
      used: '最終利用',
      unused: '未使用',
      actions: '操作',
      of: (name: string) => `「${name}」を`,
      end: '失効させる',
      confirm: 'トークンを失効させますか？',
      confirmBody: (name: string) =>
        `「${name}」を使うIDプロバイダーからの呼び出しは、すぐに拒否されます。追加されたメンバーとグループは、そのまま残ります。`,
      ended: 'トークンを失効させました。',
      notEnded: 'トークンを失効させられませんでした。',
    },
    calls: {
      title: '最近の呼び出し',
      lead: '成功した呼び出しとエラーを、新しいものからそれぞれ100件まで表示します。',
      refused: 'エラーだけを表示',
      none: '呼び出しはまだありません。',
      noneRefused: 'エラーはありません。',
      at: '日時',
      call: '呼び出し',
      target: '対象',
      result: '結果',
      ok: (status: number) => `成功（${status}）`,
      failed: (status: number) => `エラー（${status}）`,
    },
  },
} as const
