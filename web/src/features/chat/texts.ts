import type { StepStatus } from '@/lib/stream'
import { formatNumber } from '@/lib/ui/numbers'

/** tenThousands formats a number of tokens, rounded if it is large: 9,800, 18万. */
function tenThousands(tokens: number): string {
  const unit = 10_000
  return tokens < unit
    ? tokens.toLocaleString('ja-JP')
    : `${Math.round(tokens / unit).toLocaleString('ja-JP')}万`
}

/** Texts of a skill's page and of the chat. */
export const texts = {
  untitled: '新しいチャット',
  question: 'あなたの質問',
  answer: '回答',
  messages: 'メッセージ',
  loading: '読み込み中...',
  olderFailed: '以前のメッセージを読み込めませんでした。',
  again: 'やり直す',
  send: '送信',
  cancel: 'キャンセル',
  close: '閉じる',
  toEnd: '最新へ',

  suggestions: '質問の例',
  followUps: '続きの質問の例',
  unfold: 'すべて表示',
  fold: '折りたたむ',

  edit: {
    open: '質問を編集',
    label: '質問の編集',
    note: '元の質問と回答は残り、‹ › で切り替えられます。',
    busy: '回答の作成が終わると送信できます。',
    noFiles: '質問の編集では、ファイルを添付できません。追加できるのは画像だけです。',
  },

  branches: {
    questions: { label: '質問の切り替え', previous: '前の質問へ', next: '次の質問へ' },
    answers: { label: '回答の切り替え', previous: '前の回答へ', next: '次の回答へ' },
    position: (index: number, count: number) => `${count}件中${index}件目`,
    running: '別の分岐で回答を作成中です。',
    done: '別の分岐に新しい回答があります。',
    show: '表示する',
  },

  composer: {
    label: '質問',
    placeholder: '質問や依頼を入力',
    placeholders: {
      summarization: '要約する文章を入力',
      document_qa: 'ファイルへの質問を入力',
      web_search: '調べたいことを入力',
    } as Readonly<Record<string, string>>,
    next: '続けて質問や依頼を入力',
    keys: (keys: { send: string; break: string }) => `${keys.send}（改行は ${keys.break}）`,
    stop: '回答を停止',
    remaining: (count: number) => `残り${count.toLocaleString('ja-JP')}文字`,
    over: (count: number, limit: number) =>
      `上限を${count.toLocaleString('ja-JP')}文字超えています。${limit.toLocaleString('ja-JP')}文字以内にしてください。`,
    note: '回答には誤りが含まれることがあります。',
  },

  model: {
    label: 'モデル',
    standard: '既定',
    chosen: (name: string) => `モデル：${name}`,
    think: 'じっくり考える',
    withdrawn: (name: string) => `選択していたモデルは利用できなくなりました。「${name}」が回答します。`,
    wrote: (name: string) => `回答したモデル：${name}`,
    again: '回答を再生成',
    with: '別のモデルで再生成',
    by: (name: string) => `「${name}」で再生成`,
  },

  skills: {
    choose: 'スキルを選択',
    button: 'スキル',
    label: 'スキル',
    begins: '選んだスキルで、新しいチャットを始めます。',
  },

  guidance: {
    instructions: '組織の指示',
    about: '「回答のカスタマイズ」',
    and: 'と',
    sent: (names: string) => `${names}も一緒に送ります`,
    title: '質問と一緒に送る内容',
    lead: 'どのスキルでも、質問のたびに次の内容をモデルに送ります。',
    edit: '「回答のカスタマイズ」を編集',
    fields: { name: '呼び名', department: '部署・役割', tone: '回答の文体', signature: '署名' },
  },

  files: {
    attach: 'ファイルを添付',
    add: 'ファイルや画像を追加',
    known: 'アップロード済みのファイル',
    upload: 'ファイルをアップロード',
    choose: 'ファイルを選択',
    drop: 'ここにドロップして添付',
    notHere: 'このスキルでは、ファイルを添付できません。追加できるのは画像だけです。',
    dropHere: 'ここにドロップしてファイルを選択',
    search: '名前と内容を検索',
    recent: '最近のファイル',
    found: '見つかったファイル',
    notFound: '見つかりませんでした。',
    none: 'アップロードしたファイルはまだありません。',
    moreFiles: 'さらに表示',
    listFailed: '読み込めませんでした。',
    list: '質問に使うファイル',
    asked: '質問に使ったファイル',
    more: (count: number) => `ほか${count}件`,
    gone: '削除されたファイル',
    unused: '使いません',
    use: (name: string) => `「${name}」を使う`,
    remove: (name: string) => `「${name}」を外す`,
    stop: (name: string) => `「${name}」のアップロードを中止`,
    againLabel: (name: string) => `「${name}」をやり直す`,
    uploadWaits: 'アップロード待ち',
    uploading: (percent: number) => `アップロード中 ${percent}%`,
    uploadStored: '保存中',
    waits: '読み取りが終わりしだい送信します。',
    cancel: '送信を取り消す',
    failed: '使えないファイルがあります。外すか、やり直してから送信してください。',
    tooMany: (limit: number, count: number) =>
      `一つのチャットで使えるファイルは${limit}件までです。${count}件は添付しませんでした。`,
  },

  pictures: {
    add: '画像を追加',
    camera: '写真を撮る',
    blind: (reason: string) => `画像を追加できません（${reason}）`,
    cannotSee: (model: string) => `${model}は画像を読み取れません`,
    noModel: '画像を読み取れるモデルが設定されていません',
    list: '質問に使う画像',
    asked: '質問に添えた画像',
    count: (count: number) => `（画像${count}枚）`,
    open: (place: number) => `画像${place}を拡大`,
    gone: 'この画像は削除されています',
    remove: (place: number) => `画像${place}を外す`,
    removeFailed: '追加できなかった画像を外す',
    stop: '画像の追加を中止',
    uploading: (percent: number) => `画像を追加しています ${percent}%`,
    empty: 'ファイルの中身がありません。',
    tooLarge: '画像が大きすぎます。20 MB以下の画像を追加してください。',
    tooMany: (limit: number, count: number) =>
      `一つの質問に添えられる画像は${limit}枚までです。${count}枚は追加しませんでした。`,
    waits: '画像の追加が終わりしだい送信します。',
    failed: '追加できなかった画像があります。外すか、やり直してから送信してください。',
    unread: '画像を外すか、画像を読み取れるモデルを選択してください。',
    viewer: '画像の拡大表示',
    alt: (place: number, count: number) =>
      count > 1 ? `質問に添えた画像（${count}枚中${place}枚目）` : '質問に添えた画像',
    position: (place: number, count: number) => `${count}枚中${place}枚目`,
    previous: '前の画像',
    next: '次の画像',
    download: '画像を保存',
    fileName: (place: number) => `画像${place}`,
    failedToShow: '画像を読み込めませんでした。',
  },

  queue: {
    label: '送信待ちの質問',
    waits: '回答が終わりしだい送信します',
    held: '前の回答が完了していないため、送信を保留しています',
    elsewhere: '別の分岐の質問の続きとして、送信を待っています',
    failed: '未送信の質問があります',
    later: '回答が終わりしだい送信',
    send: '送信する',
    edit: '編集する',
    remove: '送信を取り消す',
    full: (count: number) => `送信待ちにできる質問は${count}件までです。`,
  },

  form: {
    submit: '実行',
    select: '選択してください',
    counter: (count: number, limit: number) =>
      `${count.toLocaleString('ja-JP')} / ${limit.toLocaleString('ja-JP')}文字`,
    required: (label: string) => `${label}を入力してください。`,
    oneOf: 'いずれか必須',
    original: '校正する文章を入力するか、ファイルを選択してください。',
    either: '文章とファイルは、どちらか一つだけを指定してください。',
    requiredChoice: (label: string) => `${label}を選択してください。`,
    tooLong: (label: string, limit: number, count: number) =>
      `${label}は${limit.toLocaleString('ja-JP')}文字以内で入力してください（現在${count.toLocaleString('ja-JP')}文字）。`,
    number: (label: string) => `${label}は数字で入力してください。`,
  },

  status: {
    queued: '送信を待っています',
    writing: '回答を作成しています',
    rewriting: '回答を再作成しています',
    stopped: '回答を停止しました',
    length: '文字数の上限に達したため、回答は途中までです。',
    continue: '続きを書く',
    continuation: '回答が途中で切れています。切れたところから、続きを書いてください。',
    failed: '回答を最後まで作成できませんでした。',
    finished: (text: string) => `回答です。${text}`,
    begun: (text: string) => `回答です。${text}（続きは本文にあります）`,
    proofread: (count: number) =>
      count === 0
        ? '校正が終わりました。修正が必要な箇所はありませんでした。'
        : `校正が終わりました。修正が必要な箇所が${count.toLocaleString('ja-JP')}件あります。`,
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
    stalled: '続きを生成しています。少々お待ちください',
    rewriting: '接続が途切れたため、回答を最初から再作成しています',
  },

  steps: {
    retrieval: {
      pending: 'ファイルを検索します',
      running: 'ファイルを検索しています',
      success: 'ファイルを検索しました',
      failed: 'ファイルを検索できませんでした',
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
    proofread: {
      pending: '校正します',
      running: '校正しています',
      success: '校正しました',
      failed: '校正できませんでした',
    },
  } as Readonly<Record<string, Readonly<Record<StepStatus, string>>>>,
  toolCalls: {
    preparing: (title: string) => `${title}の内容を準備しています`,
    running: (title: string) => `${title}を使っています`,
    done: (titles: readonly string[]) =>
      titles.length === 1 ? `${titles[0]}を使用` : `${titles.length}つのツールを使用`,
    returned: (titles: readonly string[]) =>
      titles.length === 1 ? `${titles[0]}の実行を依頼` : `${titles.length}つのツールの実行を依頼`,
    times: (title: string, count: number) => (count === 1 ? title : `${title}（${count}回）`),
    asking: (title: string) => `${title}の承認を待っています`,
    askingInput: (title: string) => `${title}への入力を待っています`,
    failed: '失敗',
    approvals: {
      waiting: '承認待ち',
      approved: '承認済み',
      denied: '拒否',
      expired: '期限切れ',
      canceled: '中止',
    } as Readonly<Record<string, string>>,
    inputStates: {
      waiting: '入力待ち',
      approved: '入力済み',
      denied: '入力せず',
    } as Readonly<Record<string, string>>,
    input: '入力',
    inputs: {
      date: '日付',
      add_days: '日数',
      add_business_days: '営業日数',
      until: '終わりの日',
      month: '月',
      expression: '式',
      query: '検索語',
      url: 'アドレス',
      unit: '単位',
    } as Readonly<Record<string, string>>,
    output: '結果',
    unfinished: 'まだありません',
    waiting: '結果を待っています',
    empty: '結果はありません',
    elsewhere: '質問したプログラムが実行します',
  },
  sources: '出典',
  page: (page: number) => `${page.toLocaleString('ja-JP')}ページ`,
  citation: {
    spoken: (index: number, title: string, note: string) => `出典${index}、${title}${note && `、${note}`}`,
    opens: '、新しいタブで開きます',
    weak: '要確認',
    partlyWeak: '一部要確認',
    weakHint: '回答の数字や日付などが、この箇所では確認できませんでした。原文をご確認ください。',
    ofSkill: 'スキルに登録されたファイルのため、開けません。',
    others: '参照した箇所',
    consulted: (count: number) => `参照した箇所（${count}件）`,
    otherPages: '確認したページ',
    consultedPages: (count: number) => `そのほかに確認したページ（${count}件）`,
  },

  actions: {
    label: '回答の操作',
    copy: 'コピー',
    copySubject: '件名をコピー',
    copyBody: '本文をコピー',
    good: '良い回答',
    bad: '良くない回答',
    regenerate: '回答を再生成',
    more: 'その他の操作',
  },

  mail: {
    label: 'メールの文面',
    subject: '件名',
    body: '本文',
    open: 'メールソフトで開く',
    bodyToPaste: '本文が長いため、クリップボードにコピーしました。メールソフトの本文に貼り付けてください。',
    bodyTooLong:
      '本文が長いため、メールソフトに渡せません。「本文をコピー」でコピーして、貼り付けてください。',
  },

  dictation: {
    label: '音声で入力',
    labelService: '音声で入力（音声はブラウザーの音声認識サービスに送られます）',
    button: '音声入力',
    stop: '停止',
    notAllowed: 'マイクを使用できません。ブラウザーのサイト設定で、マイクを許可してください。',
    failed: '音声を認識できませんでした。',
  },

  speech: {
    read: '読み上げる',
    stop: '読み上げを停止',
    failed: '読み上げられませんでした。',
    noVoice: 'この端末には、読み上げに使える音声がありません。端末の設定で、日本語の音声を追加してください。',
  },

  selection: {
    label: '選択した部分の操作',
    ask: '質問する',
    rephrase: '言い換える',
    rephraseRequest: '次の部分を、意味を変えずに、別の言い方にしてください。',
    translate: '訳す',
    translateRequest: '次の部分を訳してください。日本語は英語に、ほかの言語は日本語に訳してください。',
  },

  feedback: {
    title: '良くなかった点を教えてください',
    label: 'コメント',
    hint: '評価とコメントは、スキルとモデルの名前とともに、組織の管理者が確認します。あなたの名前は表示されません。',
    withText: '質問と回答の内容も管理者に送る',
    withTextHint:
      'この質問と回答の文章に、あなたの名前を添えて、組織の管理者に表示します。前後の質問と回答、ファイルと画像、出典の内容は送りません。',
    withdrawable: '評価を取り消すかチャットを削除すると、管理者の画面からも消えます。',
    placeholder: '例：質問の意図と違う答えだった',
    withdraw: '評価を取り消す',
    thanks: '評価を送信しました。',
  },

  busy: {
    waiting: (seconds: number) => `サーバーが一時的に応答できません。${seconds}秒後に自動で再送します。`,
    spoken: 'サーバーが一時的に応答できません。自動で再送します。',
  },

  proofread: {
    saved: '（校正）.docx',
  },

  gone: 'このチャットは削除されました。',

  project: {
    author: (name: string | undefined) => (name === undefined ? '削除されたメンバー' : `${name}さん`),
    question: (asker: string) => `${asker}の質問`,
    place: (name: string, shared: boolean) => `プロジェクト「${name}」${shared ? 'で共有' : ''}`,
    closed: 'アーカイブされたプロジェクトのチャットです。読むことはできますが、質問はできません。',
    start: {
      title: (name: string) => `プロジェクト「${name}」で新しいチャットを始めます。`,
      readers: 'このチャットを読める人',
      visibility: { private: '自分だけ', project: 'プロジェクトのメンバー' },
      leave: 'プロジェクトの外で始める',
    },
    waiting: {
      label: '順番を待っている質問',
      count: (count: number) =>
        `${count}件の質問が順番を待っています。前の回答が終わると、順に回答されます。`,
      cancel: '質問を取り消す',
      failed: (why: string) => `質問を取り消せませんでした。${why}`,
      notAsked: (why: string) => `質問できませんでした。${why}`,
    },
    move: {
      item: 'プロジェクト',
      title: 'プロジェクトのチャットにする',
      choose: {
        label: 'プロジェクト',
        search: 'プロジェクト名で検索',
        none: '該当するプロジェクトはありません。サイドバーの「プロジェクト」で作成できます。',
      },
      outside: 'プロジェクトを選択しないと、プロジェクトの外のチャットになります。',
      save: '保存する',
      saved: 'チャットのプロジェクトを変更しました。',
      failed: (why: string) => `プロジェクトを変更できませんでした。${why}`,
      loading: '共有される範囲を確認しています…',
      audienceFailed: '共有される範囲を確認できませんでした。',
      audience: (members: number, questions: number) =>
        `${formatNumber(members)}人のメンバーが、これまでの質問${formatNumber(questions)}件とその回答を読み、続けて質問できるようになります。`,
      link: 'このチャットの共有リンクは終了し、開けなくなります。',
      files: '次のファイルの名前が見え、内容が回答に使われます。開けるのは、今も開ける人だけです。',
    },
  },

  temporary: {
    title: '一時チャット',
    on: '一時チャットにする',
    off: '通常のチャットに戻す',
    note: 'このチャットは一覧に残らず、24時間後に削除されます。',
    until: (at: string) => `このチャットは一覧に残らず、24時間後（${at}）に削除されます。`,
  },

  share: {
    item: '共有',
    title: 'チャットを共有',
    lead: (organization: string) =>
      `このチャットを、${organization}のメンバーがリンクから閲覧できるようにします。ログインしている組織のメンバーだけが開けます。`,
    snapshot: '共有されるのは、いま表示しているところまでです。このあとの質問と回答は含まれません。',
    create: 'リンクを作成',
    shared: (at: string, messages: number) => `${at}時点の${messages}件のメッセージを共有しています。`,
    link: '共有リンク',
    copy: 'リンクをコピー',
    update: '最新の内容に更新',
    updated: '共有する内容を更新しました。',
    end: '共有を終了',
    ended: '共有を終了しました。リンクは開けなくなります。',
    failed: '共有できませんでした。',
    endFailed: '共有を終了できませんでした。',
    loadFailed: '共有の状態を確認できませんでした。',
  },

  trouble: {
    regenerate: '回答を再生成できませんでした。',
    stop: '回答を停止できませんでした。',
    feedback: '評価を送信できませんでした。',
    branch: '切り替えられませんでした。',
    decide: '選択を保存できませんでした。',
  },

  failure: {
    send: '送信できませんでした。',
    network: 'サーバーに接続できませんでした。入力した内容は残っています。',
    busy: 'このチャットでは別の回答を作成しています。完了してから、もう一度お試しください。',
    limited: (seconds: number) =>
      `ただいま混み合っています。${seconds > 90 ? `${Math.ceil(seconds / 60)}分` : `${seconds}秒`}ほど待ってから、やり直してください。`,
    unknown: '時間をおいて、もう一度お試しください。',
    lost: '回答を受け取れませんでした。',
  },

  cost: {
    title: '使用するトークンの確認',
    lead: (tokens: number) =>
      `選択したファイル全体を要約するには、約${tenThousands(tokens)}トークンを使用します。続けますか？`,
    left: (left: number, limit: number) =>
      `今月ご利用いただけるのは、あと${tenThousands(left)}トークンです（上限${tenThousands(limit)}トークン）。`,
    over: '上限に達すると、要約は途中で終わります。',
    proceed: '続ける',
  },

  menu: {
    label: 'チャットのメニュー',
    save: 'Markdownで保存',
    word: 'Wordで保存',
    wordFailed: 'Wordの文書を作成できませんでした。',
    print: '印刷・PDFで保存',
    failed: 'チャットを読み込めませんでした。',
    you: '質問',
    answer: '回答',
    sources: '出典',
    withoutPictures: (count: number) => `（画像${count}枚は、この文書に含まれません）`,
    savedAt: (date: string) => `${date}に保存`,
  },
} as const
