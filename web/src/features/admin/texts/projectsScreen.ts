/** The projects of the organization. */
export const projectsScreen = {
  projects: {
    title: 'プロジェクト',
    lead: '組織のすべてのプロジェクトです。管理者画面から中のファイルやチャットは閲覧できません。',
    search: 'プロジェクト名で検索',
    state: '状態',
    states: { active: '利用中', archived: 'アーカイブ', deleted: '削除済み' },
    table: 'プロジェクトの一覧',
    found: (count: string) => `${count}件のプロジェクト`,
    none: 'プロジェクトはまだありません。',
    noneHint: 'メンバーがプロジェクトを作成すると、ここに並びます。',
    empty: '条件に合うプロジェクトはありません。',
    name: 'プロジェクト名',
    managers: '管理者',
    noManager: '管理者がいません',
    size: '規模',
    sizeOf: (files: string, threads: string, members: string) =>
      `ファイル ${files}件・共有チャット ${threads}件・メンバー ${members}名`,
    storage: '容量',
    actions: '操作',
    menu: (name: string) => `「${name}」の操作`,
    until: (day: string) => `${day}まで復元できます`,
    appoint: '管理者を指名',
    archive: 'アーカイブする',
    unarchive: 'アーカイブから戻す',
    remove: '削除する',
    restore: '復元する',
    done: {
      archive: (name: string) => `「${name}」をアーカイブしました。`,
      unarchive: (name: string) => `「${name}」をアーカイブから戻しました。`,
      restore: (name: string) => `「${name}」を復元しました。`,
    },
    notDone: (why: string) => `変更できませんでした。${why}`,
    removing: {
      confirm: 'プロジェクトを削除しますか？',
      end: '削除する',
      ended: 'プロジェクトを削除しました。',
      notEnded: 'プロジェクトを削除できませんでした。',
      body: (name: string) =>
        `「${name}」は、すぐに全員の画面から消え、30日後に完全に削除されます。それまでは復元できます。`,
    },
    appointing: {
      title: (name: string) => `「${name}」の管理者を指名`,
      choose: {
        label: '管理者にするメンバー',
        search: '名前またはメールアドレスで検索',
        none: '該当するメンバーはいません。',
      },
      submit: '指名する',
      done: (name: string) => `${name}さんを管理者にしました。`,
    },
  },
} as const
