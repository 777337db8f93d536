import { formatNumber } from '@/lib/ui/numbers'

/** The number of names in a text. */
const NAMED = 5

/** listNames lists the first names, and the number of the others. */
function listNames(names: readonly string[]): string {
  const others = names.length - NAMED
  const first = names.slice(0, NAMED).join('、')
  return others > 0 ? `${first}ほか${formatNumber(others)}件` : first
}

/** The texts of the projects. */
export const texts = {
  title: 'プロジェクト',
  lead: 'チームのファイルと指示を、メンバーと一緒に使う場所です。',
  all: 'すべてのプロジェクト',
  retry: 'やり直す',
  close: '閉じる',
  save: '保存する',
  choose: (what: string) => `${what}を選択してください。`,
  notSaved: (why: string) => `保存できませんでした。${why}`,
  found: (count: number, more: boolean) => `${formatNumber(count)}件${more ? '以上' : ''}`,
  roles: { viewer: '閲覧者', editor: '編集者', manager: '管理者' },
  roleHints: {
    viewer: '質問とファイルの閲覧',
    editor: 'ファイルの追加と指示の編集も',
    manager: 'メンバーと設定の変更も',
  },

  list: {
    search: 'プロジェクト名で検索',
    states: { active: '利用中', archived: 'アーカイブ', deleted: '削除済み' },
    statesLabel: '表示するプロジェクト',
    create: 'プロジェクトを作成',
    none: {
      active: {
        title: 'プロジェクトはまだありません。',
        hint: 'プロジェクトを作成し、ファイルを追加して、メンバーを招待してください。',
      },
      archived: { title: 'アーカイブしたプロジェクトはありません。' },
      deleted: { title: '復元できるプロジェクトはありません。' },
    },
    noMatch: { title: '一致するプロジェクトはありません。', hint: '別の言葉でもお試しください。' },
    deletedHint: '削除したプロジェクトは、30日のあいだ、管理者だったメンバーが復元できます。',
    facts: (files: number, members: number) =>
      `ファイル ${formatNumber(files)}件・メンバー ${formatNumber(members)}名`,
    restore: '復元',
    of: (name: string) => `「${name}」を`,
    restored: (name: string) => `「${name}」を復元しました。`,
    notRestored: (why: string) => `復元できませんでした。${why}`,
    until: (day: string) => `${day}まで復元できます`,
  },

  create: {
    name: '名前',
    nameRequired: '名前を入力してください。',
    example: '例：新製品の発売準備',
    description: '説明',
    submit: '作成する',
    created: (name: string) => `「${name}」を作成しました。`,
  },

  page: {
    tabs: {
      threads: 'チャット',
      files: 'ファイル',
      members: 'メンバー',
      instructions: '指示',
      settings: '設定',
    },
    menu: 'プロジェクトのメニュー',
    missing: 'このプロジェクトは開けません',
    missingHint:
      '削除されたか、あなたがメンバーではなくなりました。続けて使うには、プロジェクトの管理者に追加を依頼してください。',
    archived: 'アーカイブしたプロジェクトです。閲覧できますが、質問とファイルの追加はできません。',
    role: (role: string) => `あなたの権限：${role}`,
  },

  threads: {
    label: 'プロジェクトのチャット',
    shown: '表示するチャット',
    kinds: { all: 'すべて', own: '自分だけ', shared: '共有' },
    begin: '新しいチャット',
    beginShared: '共有チャットを始める',
    none: {
      title: 'チャットはまだありません。',
      hint: '「新しいチャット」から質問すると、ここに並びます。',
    },
    noneShared: {
      title: '共有されたチャットはありません。',
      hint: '「共有チャットを始める」か、チャットのメニューの「プロジェクト」で、メンバーと一緒に質問できます。',
    },
    first: '最初の準備',
    firstFilesHint: '議事録や手順書を追加すると、どのチャットの回答にも使われます。',
    firstMembersHint: '招待したメンバーは、同じファイルについて質問できます。',
    running: '回答を作成しています',
    by: (name: string) => `${name}さん`,
    untitled: '新しいチャット',
  },

  files: {
    label: 'プロジェクトのファイル',
    choose: 'ファイルを追加',
    folder: 'フォルダーを追加',
    drop: 'ここにファイルやフォルダーをドラッグ＆ドロップ',
    kinds: 'PDF、Word、Excel、PowerPoint、テキスト、Markdown、CSV、TSV、HTML、それらを含むZIP',
    limit: (megabytes: number) => `1件${megabytes} MBまで`,
    search: '名前と内容を検索',
    byName: '名前が一致するファイル',
    matches: {
      title: '内容の検索結果',
      none: '検索した言葉に近い内容はありません。別の言葉で検索してみてください。',
      found: (count: number) => `内容の検索結果 ${formatNumber(count)}件`,
      all: (count: number) => `${formatNumber(count)}件すべてを表示`,
      place: (page: number | null, locator: string) =>
        [page === null ? '' : `${formatNumber(page)}ページ`, locator].filter(Boolean).join('・'),
    },
    none: 'ファイルはまだありません。',
    noneHint: 'ファイルを追加すると、メンバー全員が閲覧できます。',
    noneReadHint: '編集者と管理者がファイルを追加すると、ここに並びます。',
    noMatch: '名前が一致するファイルはありません。',
    facts: (kind: string, size: string, by: string, day: string) => `${kind}・${size}・${by}が${day}に追加`,
    select: (name: string) => `「${name}」を選択`,
    download: (name: string) => `「${name}」をダウンロード`,
    departed: '退会したメンバー',
    removeChosen: (count: number) => `${formatNumber(count)}件をプロジェクトから外す`,
    clearChoice: '選択を解除',
    removeOne: (name: string) => `「${name}」をプロジェクトから外す`,
    removing: {
      confirm: 'ファイルをプロジェクトから外しますか？',
      end: '外す',
      ended: 'ファイルをプロジェクトから外しました。',
      notEnded: 'ファイルを外せませんでした。',
      body: (names: readonly string[]) =>
        `${listNames(names)}をプロジェクトから外します。誰かの「ファイル」に残っていないものは削除されます。`,
      progress: (done: number, all: number) =>
        `${formatNumber(all)}件中${formatNumber(done)}件を外しました。`,
    },
    unreadable: (names: readonly string[]) =>
      `次の項目は読み取れないため、追加していません：${listNames(names)}`,
    nothingFound: '追加できるファイルが見つかりませんでした。',
    used: (used: string, limit: string) => `使用量 ${used}${limit && ` / ${limit}`}`,
  },

  own: {
    title: '自分のファイルから追加',
    lead: '選んだファイルを、プロジェクトのメンバー全員が閲覧できるようになります。あなたのファイルを削除しても、プロジェクトには残ります。',
    choose: {
      label: '追加するファイル',
      search: '名前と内容を検索',
      none: '該当するファイルはありません。',
    },
    submit: (count: number) => (count === 0 ? '追加する' : `${formatNumber(count)}件を追加`),
    done: (added: number, known: number) =>
      [
        added > 0 && `${formatNumber(added)}件のファイルを追加しました。`,
        known > 0 && `${formatNumber(known)}件は、すでにプロジェクトにあります。`,
      ]
        .filter(Boolean)
        .join(''),
  },

  uploads: {
    label: 'アップロードの状況',
    running: 'アップロードしています',
    progress: (done: number, total: number) => `${formatNumber(done)} / ${formatNumber(total)}件`,
    ended: 'アップロードが終わりました。',
    added: (count: number) => `追加 ${formatNumber(count)}件`,
    known: (count: number) => `すでにあるファイル ${formatNumber(count)}件`,
    failed: (count: number) => `追加できなかったファイル ${formatNumber(count)}件`,
    names: listNames,
    stop: '中止',
    retry: '失敗したファイルをやり直す',
  },

  archives: {
    empty: 'ZIPファイルの中に、ファイルがありません。',
    many: (most: number) =>
      `ZIPファイルの中のファイルは、${formatNumber(most)}件までです。分けてから追加してください。`,
    encrypted: 'パスワード付きのZIPファイルは追加できません。展開してから追加してください。',
    damaged: 'ZIPファイルを展開できませんでした。壊れていないか確認してください。',
    skipped: (names: readonly string[]) =>
      `ZIPファイルの中の、ZIPファイルと50 MBを超えるファイルは追加できません：${listNames(names)}`,
  },

  members: {
    label: 'メンバーと権限',
    role: '権限',
    everyone: '組織の全員',
    noOne: '権限なし',
    people: (count: number) => `${formatNumber(count)}名`,
    group: 'グループ',
    you: 'あなた',
    alone: 'メンバーは、あなただけです。',
    aloneHint: 'メンバーを招待すると、ファイルと指示を一緒に使えます。',
    of: (name: string) => `${name}の`,
    removeOf: (name: string) => `${name}をプロジェクトから`,
    removing: {
      confirm: 'プロジェクトから外しますか？',
      end: '外す',
      ended: 'プロジェクトから外しました。',
      notEnded: 'プロジェクトから外せませんでした。',
      body: (name: string) =>
        `${name}は、このプロジェクトのファイルとチャットをすぐに閲覧できなくなります。本人だけのチャットも、本人に表示されなくなります。`,
    },
    changed: '権限を変更しました。',
    notChanged: (why: string) => `権限を変更できませんでした。${why}`,
    gone: 'すでにプロジェクトから外されています。',
    lastManager: 'プロジェクトには管理者が必要です。先に、ほかのメンバーを管理者にしてください。',
    onlyManagers: 'メンバーと権限を変更できるのは、プロジェクトの管理者です。',
    adding: {
      title: 'メンバーを招待',
      choose: {
        label: '招待するメンバーとグループ',
        search: '名前またはメールアドレスで検索',
        none: '該当するメンバーとグループはありません。',
      },
      submit: (count: number) => (count === 0 ? '招待する' : `${formatNumber(count)}件を招待`),
      done: (added: number, known: number) =>
        [
          added > 0 && `${formatNumber(added)}件をプロジェクトに追加しました。`,
          known > 0 && `すでに追加されていた${formatNumber(known)}件の権限は、変更していません。`,
        ]
          .filter(Boolean)
          .join(''),
    },
  },

  instructions: {
    label: '指示',
    hint: 'このプロジェクトのチャットでは、質問のたびにこの指示をモデルに送ります。メンバー全員に表示されます。',
    example: '例：回答には、根拠にしたファイルの名前を書いてください。金額は税抜きで答えてください。',
    count: (length: string, limit: string) => `${length} / ${limit}文字`,
    tooLong: (limit: string) => `${limit}文字以内で入力してください。`,
    none: { title: '指示はまだありません。', hint: '編集者と管理者が指示を書くと、ここに表示されます。' },
    saved: '指示を保存しました。',
    conflict: {
      title: 'ほかのメンバーが先に指示を変更しました',
      lead: 'どちらの変更も失われていません。下の「保存する指示」を確認して、保存してください。',
      clean: '変更した箇所が異なるため、両方の変更をまとめました。',
      both: (count: number) =>
        `同じ箇所の変更が${formatNumber(count)}か所あります。両方の文を並べたため、不要なほうを削除してください。`,
      theirs: { title: '保存されている指示', use: '保存されている指示にする' },
      mine: { title: 'あなたの指示', use: 'あなたの指示にする' },
      empty: '（空欄）',
      result: '保存する指示',
      useBoth: '両方をまとめる',
      save: 'この内容で保存する',
      discard: '自分の変更をやめる',
    },
  },

  channels: {
    title: 'Slackのチャンネル',
    lead: '連携したチャンネルでは、プロジェクトのメンバーの質問に、プロジェクトのファイルと指示を使って回答します。回答は、メンバーでない人も含めて、そのチャンネルの全員が読めます。',
    how: '連携するには、Slackのチャンネルで次のコマンドを送信します。ダイレクトメッセージと、ほかの会社と共有しているチャンネルは連携できません。',
    copy: 'コマンドをコピー',
    none: '連携しているチャンネルはありません。',
    bound: (who: string, when: string) => `${who}が${when}に連携`,
    of: (name: string) => `「${name}」の`,
    unbind: '連携を解除',
    unbinding: {
      confirm: '連携を解除しますか？',
      end: '解除する',
      ended: '連携を解除しました。',
      notEnded: '連携を解除できませんでした。',
      body: (name: string) =>
        `「${name}」での質問に、プロジェクトのファイルと指示を使わなくなります。これまでの質問と回答は残ります。`,
    },
  },

  settings: {
    basics: '基本の設定',
    skill: '新しいチャットのスキル',
    skillHint: 'プロジェクトの画面で始めるチャットに使うスキルです。',
    noSkill: '汎用チャット',
    otherSkill: 'あなたが利用できないスキル',
    retention: 'チャットの保存日数',
    retentionHint:
      '最後の質問から何日残すかです。空欄のときは組織の設定に従います。自分だけのチャットには、短いほうの日数が適用されます。',
    retentionWrong: '30以上3,650以下の数を入力してください。',
    storage: 'ファイルの容量の上限（GB）',
    storageHint: '空欄のときは、プロジェクトごとの上限はありません。',
    storageWrong: '0より大きい数を入力してください。',
    saved: '設定を保存しました。',
    conflict:
      'ほかのメンバーが先に設定を変更しました。最新の内容に、あなたの変更を加えています。確認して保存してください。',
    usage: '今月の利用',
    usageLead: 'このプロジェクトのチャットで使われたトークンです。',
    usageMember: 'メンバー',
    usageTokens: 'トークン',
    usageTotal: '合計',
    usageNone: '今月の利用はまだありません。',
    archive: 'アーカイブ',
    archiveHint: '閲覧だけできるようにします。質問とファイルの追加はできなくなります。いつでも戻せます。',
    archiveDo: 'アーカイブする',
    unarchiveDo: 'アーカイブから戻す',
    archivedDone: 'アーカイブしました。',
    unarchivedDone: 'アーカイブから戻しました。',
    leaving: {
      title: 'プロジェクトから抜ける',
      lead: 'ファイルとチャットを閲覧できなくなります。自分だけのチャットは、先にチャットのメニューの「プロジェクト」で外に移せば残ります。',
      action: 'プロジェクトから抜ける',
      confirm: 'プロジェクトから抜けますか？',
      end: '抜ける',
      ended: 'プロジェクトから抜けました。',
      notEnded: 'プロジェクトから抜けられませんでした。',
      body: (name: string) =>
        `「${name}」のファイルと、すべてのチャットを閲覧できなくなります。もう一度使うには、管理者に招待を依頼してください。`,
    },
    byGroup:
      'グループまたは組織の全員として参加しているため、抜けられません。管理者に変更を依頼してください。',
    removing: {
      title: '削除',
      lead: 'すぐに全員の画面から消えます。30日以内なら、管理者がプロジェクトの一覧から復元できます。',
      action: '削除する',
      confirm: 'プロジェクトを削除しますか？',
      end: '削除する',
      ended: 'プロジェクトを削除しました。',
      notEnded: 'プロジェクトを削除できませんでした。',
      body: (name: string) =>
        `「${name}」のファイルとチャットは、すぐに全員の画面から消え、30日後に完全に削除されます。それまでは、プロジェクトの一覧の「削除済み」から復元できます。`,
    },
  },
} as const
