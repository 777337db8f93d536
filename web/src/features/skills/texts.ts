/** The texts of the skill list. */
export const texts = {
  title: 'スキル',
  greeting: (greeting: string, name: string) => `${greeting}、${name}さん`,
  lead: '今日は何から始めますか。',
  search: 'スキルを検索',
  clear: '検索語をクリア',
  make: 'スキルを作成',
  library: 'スキルの管理',
  categories: '分類',
  all: 'すべて',
  recent: '最近使ったスキル',
  favorite: (name: string) => `「${name}」をお気に入りに追加`,
  unfavorite: (name: string) => `「${name}」をお気に入りから外す`,
  empty: '一致するスキルはありません。',
  emptyHint: '別の言葉で検索するか、分類を「すべて」に戻してください。',
  reset: '絞り込みを解除',
  none: '使えるスキルはまだありません。',
  noneHint: '組織の管理者にお問い合わせください。',
  model: {
    title: 'AIモデルが未設定です',
    body:
      '環境変数 OPENAI_API_KEY と OPENAI_MODEL（OpenAI以外のサービスでは OPENAI_BASE_URL も）を設定し、' +
      'サーバーを再起動してください。設定するまでは、要約、文書に質問、議事録作成、文章校正だけをご利用いただけます。',
  },
  notices: 'お知らせ',
  close: (title: string) => `お知らせ「${title}」を閉じる`,
  loading: '読み込み中...',
  found: (count: number) => `${count}件のスキル`,
  other: 'その他',
} as const
