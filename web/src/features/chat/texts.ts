import type { StepStatus } from '@/lib/stream'

/** The words of a skill's page and of the chat. */
export const texts = {
  untitled: '新しいスレッド',
  question: 'あなたの質問',
  answer: '回答',
  messages: 'やりとり',
  loadingOlder: '読み込み中...',
  olderFailed: '以前のやりとりを読み込めませんでした。',
  reload: '再試行',
  toEnd: '最新へ',
  unavailable: 'このスキルは現在ご利用いただけません。',

  suggestions: '質問の例',
  unfold: 'すべて表示',
  fold: '折りたたむ',

  edit: {
    open: '質問を編集',
    label: '質問の編集',
    note: '元の質問と回答は残り、‹ › で切り替えられます。',
    send: '送信',
    cancel: 'キャンセル',
    busy: '回答の作成が終わると送信できます。',
  },

  branches: {
    questions: { label: '質問の切り替え', previous: '前の質問へ', next: '次の質問へ' },
    answers: { label: '回答の切り替え', previous: '前の回答へ', next: '次の回答へ' },
    position: (index: number, count: number) => `${count}件中${index}件目`,
    running: '表示していない回答を作成しています。',
    done: '表示していない新しい回答があります。',
    show: '表示する',
    dismiss: '閉じる',
    failed: '切り替えられませんでした。',
  },

  composer: {
    label: '質問',
    placeholder: '質問や依頼を入力',
    placeholders: {
      summarization: '要約する文章や、まとめ方の希望を入力',
      document_qa: '添付した資料への質問を入力',
      web_search: '調べたいことを入力',
    } as Readonly<Record<string, string>>,
    next: '続きの質問や依頼を入力',
    blocked: '現在は入力できません',
    withKeys: (words: string, keys: { send: string; break: string }) =>
      `${words}（${keys.send} で送信、${keys.break} で改行）`,
    send: '送信',
    stop: '回答を停止',
    remaining: (count: number) => `残り${count.toLocaleString('ja-JP')}文字`,
    over: (count: number, limit: number) =>
      `上限を${count.toLocaleString('ja-JP')}文字超えています。${limit.toLocaleString('ja-JP')}文字以内にしてください。`,
    note: '回答には誤りが含まれることがあります。',
  },

  model: {
    label: 'モデル',
    standard: '既定',
    chosen: (name: string, thinking: boolean) =>
      thinking ? `モデル: ${name}、よく考えてから答える` : `モデル: ${name}`,
    withThinking: (name: string) => `${name}・熟考`,
    think: 'よく考えてから答える',
    withdrawn: (name: string) => `選択していたモデルは利用できなくなりました。「${name}」が回答します。`,
    wrote: (name: string) => `回答したモデル: ${name}`,
    again: '回答を再生成',
    with: '別のモデルで再回答',
    by: (name: string) => `${name}で再回答`,
  },

  guidance: {
    instructions: '組織の指示',
    about: '「自分について」',
    and: 'と',
    sent: (names: string) => `${names}も一緒に送ります`,
    title: '質問と一緒に送る内容',
    lead: 'どのスキルでも、質問のたびに次の内容をモデルに送ります。',
    edit: '「自分について」を編集',
    close: '閉じる',
    fields: { name: '呼び名', department: '部署・役割', tone: '回答の文体', signature: '署名' },
  },

  files: {
    attach: 'ファイルを添付',
    upload: 'ファイルをアップロード',
    choose: 'ファイルを選択',
    drop: 'ここにドロップして添付',
    search: '名前と内容を検索',
    clear: '検索する言葉を消す',
    recent: '最近のファイル',
    found: '見つかったファイル',
    notFound: '見つかりませんでした。',
    none: 'アップロードしたファイルはまだありません。',
    moreFiles: 'さらに表示',
    listFailed: '読み込めませんでした。',
    list: '質問に使うファイル',
    asked: '質問に使ったファイル',
    more: (count: number) => `ほか${count}件`,
    unknown: '読み込み中...',
    gone: '削除されたファイル',
    unused: '使いません',
    use: (name: string) => `「${name}」を使う`,
    remove: (name: string) => `「${name}」を外す`,
    stop: (name: string) => `「${name}」のアップロードを中止`,
    again: 'やり直す',
    againLabel: (name: string) => `「${name}」をやり直す`,
    uploadWaits: 'アップロード待ち',
    uploading: (percent: number) => `アップロード中 ${percent}%`,
    uploadStored: '保存中',
    waits: '読み取りが終わり次第送信します。',
    cancel: '送信を取り消す',
    failed: '使えないファイルがあります。外すか、やり直してから送信してください。',
    tooMany: (limit: number, count: number) =>
      `1つのスレッドで使えるファイルは${limit}件までです。${count}件は添付しませんでした。`,
  },

  queue: {
    label: '送信待ちの質問',
    waits: '回答のあとに送信します',
    held: '回答が完了していないため、送信していません',
    elsewhere: '表示していない質問の続きとして、送信を待っています',
    later: '回答のあとに送信',
    send: '送信する',
    edit: '入力欄に戻して編集',
    remove: '送信を取り消す',
    full: (count: number) => `送信待ちにできる質問は${count}件までです。`,
  },

  form: {
    submit: '実行',
    select: '選択してください',
    counter: (count: number, limit: number) =>
      `${count.toLocaleString('ja-JP')} / ${limit.toLocaleString('ja-JP')}文字`,
    required: (label: string) => `${label}を入力してください。`,
    requiredChoice: (label: string) => `${label}を選択してください。`,
    tooLong: (label: string, limit: number, count: number) =>
      `${label}は${limit}文字以内で入力してください（現在${count}文字）。`,
    number: (label: string) => `${label}は数字で入力してください。`,
  },

  status: {
    preparing: '回答を準備しています',
    queued: '送信を待っています',
    writing: '回答を作成しています',
    rewriting: '回答を作成し直しています',
    stopped: '回答を停止しました',
    length: '文字数の上限に達したため、回答は途中までです。',
    failed: '回答を最後まで作成できませんでした。',
    again: '再試行',
    finished: (text: string) => `回答です。${text}`,
    begun: (text: string) => `回答です。${text}（続きは本文にあります）`,
    failedNotice: (reason: string) => `回答を作成できませんでした。${reason}`,
  },

  reasoning: {
    running: (time: string) => `考えています… ${time}`,
    done: (time: string) => `思考の過程（${time}）`,
    unknown: '思考の過程',
    seconds: (count: number) => `${count}秒`,
    minutes: (minutes: number, seconds: number) => `${minutes}分${seconds === 0 ? '' : `${seconds}秒`}`,
  },

  delay: {
    reconnecting: '接続が切れました。再接続しています',
    stalled: '回答の続きを待っています',
    rewriting: '回答が途切れたため、最初から作成し直しています',
  },

  steps: {
    retrieval: {
      pending: '資料を検索します',
      running: '資料を検索しています',
      success: '資料を検索しました',
      failed: '資料を検索できませんでした',
    },
    web_search: {
      pending: 'ウェブを検索します',
      running: 'ウェブを検索しています',
      success: 'ウェブを検索しました',
      failed: 'ウェブを検索できませんでした',
    },
    summarize: {
      pending: '要約します',
      running: '要約しています',
      success: '要約しました',
      failed: '要約できませんでした',
    },
  } as Readonly<Record<string, Readonly<Record<StepStatus, string>>>>,
  sources: '出典',
  page: (page: number) => `${page.toLocaleString('ja-JP')}ページ`,
  citation: {
    spoken: (index: number, title: string, weak: boolean) =>
      `出典${index}、${title}${weak ? '、要確認' : ''}`,
    opens: '、新しいタブで開きます',
    weak: '要確認',
    weakMark: '（要確認）',
    weakHint: '回答の数字や日付などが、この箇所では確認できませんでした。原文をご確認ください。',
    ofSkill: 'スキルの資料のため、ファイルは開けません。',
    others: '参照した箇所',
    consulted: (count: number) => `参照した箇所（${count}件）`,
    otherPages: '確認したページ',
    consultedPages: (count: number) => `そのほかに確認したページ（${count}件）`,
  },

  actions: {
    label: '回答の操作',
    copy: 'コピー',
    copied: 'コピーしました。',
    copyFailed: 'コピーできませんでした。',
    copySubject: '件名をコピー',
    subjectCopied: '件名をコピーしました。',
    copyBody: '本文をコピー',
    bodyCopied: '本文をコピーしました。',
    good: '良い回答',
    bad: '良くない回答',
    regenerate: '回答を再生成',
  },

  feedback: {
    title: '良くなかった点を教えてください',
    label: 'コメント',
    hint: 'いただいた内容は、回答の改善に活用します。',
    placeholder: '例）質問の意図と違う答えだった',
    send: '送信',
    cancel: 'キャンセル',
    withdraw: '評価を取り消す',
    thanks: 'フィードバックを送信しました。',
    failed: '評価を送信できませんでした。',
  },

  busy: {
    waiting: (seconds: number) => `ただいま混み合っています。${seconds}秒後に自動で再送します。`,
    spoken: 'ただいま混み合っています。自動で再送します。',
  },

  gone: 'このスレッドは削除されました。',

  temporary: {
    title: '一時チャット',
    on: '一時チャットにする',
    off: '通常のチャットに戻す',
    note: 'この会話は一覧に残らず、24時間後に削除されます。',
    until: (at: string) => `この会話は一覧に残らず、24時間後（${at}）に削除されます。`,
  },

  share: {
    item: '共有',
    title: '会話を共有',
    lead: (organization: string) =>
      `この会話を、${organization}のメンバーがリンクから閲覧できるようにします。ログインしている組織のメンバーだけが開けます。`,
    snapshot: '共有されるのは、いま表示しているやりとりまでです。このあとの質問と回答は含まれません。',
    create: 'リンクを作成',
    shared: (at: string, messages: number) => `${at}時点の${messages}件のメッセージを共有しています。`,
    link: '共有リンク',
    copy: 'リンクをコピー',
    copied: 'リンクをコピーしました。',
    copyFailed: 'コピーできませんでした。リンクを選択してコピーしてください。',
    update: '最新の内容に更新',
    updated: '共有する内容を更新しました。',
    end: '共有を終了',
    ended: '共有を終了しました。リンクは開けなくなります。',
    close: '閉じる',
    failed: '共有できませんでした。',
    endFailed: '共有を終了できませんでした。',
    loadFailed: '共有の状態を確認できませんでした。',
  },

  failure: {
    send: '送信できませんでした。',
    regenerate: '回答を再生成できませんでした。',
    stop: '回答を停止できませんでした。',
    retry: '再試行',
    dismiss: '閉じる',
    network: 'サーバーに接続できませんでした。入力した内容は残っています。',
    busy: 'このスレッドでは別の回答を作成しています。完了してから、もう一度お試しください。',
    limited: (seconds: number) =>
      `ただいま混み合っています。${seconds > 90 ? `${Math.ceil(seconds / 60)}分` : `${seconds}秒`}ほど待ってから、再試行してください。`,
    unknown: '時間をおいて、もう一度お試しください。',
    lost: '回答を受け取れませんでした。',
  },

  menu: {
    label: 'スレッドのメニュー',
    save: 'Markdownで保存',
    print: '印刷',
    failed: 'スレッドを読み込めませんでした。',
    you: '質問',
    answer: '回答',
    sources: '出典',
    savedAt: (date: string) => `${date}に保存`,
  },
} as const
