import { formatNumber } from '@/lib/ui/numbers'

/** The texts of the skill list. */
export const texts = {
  title: 'スキル',
  greeting: (greeting: string, name: string) => `${greeting}、${name}さん`,
  search: 'スキルを検索',
  make: 'スキルを作成',
  library: 'スキルの管理',
  categories: '分類',
  all: 'すべて',
  favorite: (name: string) => `「${name}」をお気に入りに追加`,
  unfavorite: (name: string) => `「${name}」をお気に入りから外す`,
  empty: '一致するスキルはありません。',
  emptyHint: '別の言葉で検索するか、分類を「すべて」に戻してください。',
  reset: '絞り込みを解除',
  none: '使えるスキルはまだありません。',
  noneHint: '組織の管理者にお問い合わせください。',
  model: {
    title: 'AIモデルが未設定です',
    connect: 'モデルを接続すると、すべてのスキルを利用できます。',
    ask: 'すべてのスキルを利用するには、管理者にモデルの接続を依頼してください。',
    usable: (names: readonly string[]) => `接続するまで利用できるスキル：${names.join('、')}`,
    how: 'モデルの接続方法',
    help: 'ヘルプ',
  },
  firstSteps: {
    title: 'はじめに',
    count: (done: number, all: number) => `${all}件中${done}件が完了`,
    done: '（完了）',
    hide: '「はじめに」を閉じる',
    model: {
      title: 'モデルを接続',
      body: '回答を書くAIモデルを接続します。接続すると、すべてのスキルを利用できます。',
    },
    members: {
      title: 'メンバーを招待',
      body: '同僚のメールアドレスを入力して、招待のメールを送ります。',
    },
    skill: {
      title: 'スキルを選ぶ',
      body: '「文書に質問」でファイルを追加して質問すると、出典つきの回答が届きます。',
    },
  },
  notices: 'お知らせ',
  close: (title: string) => `お知らせ「${title}」を閉じる`,
  unfold: 'すべて表示',
  fold: '折りたたむ',
  loading: '読み込み中...',
  found: (count: number) => `${formatNumber(count)}件のスキル`,
} as const
