import { formatNumber } from '@/lib/ui/numbers'

/** The texts of the header. */
export const texts = {
  skip: '本文へ移動',
  logo: 'Tsumugi スキル一覧',
  mainNav: 'メイン',
  newChat: '新しいチャット',
  news: 'ニュース',
  help: 'ヘルプ',
  newTab: '（新しいタブで開きます）',
  threads: 'チャット一覧を開く',
  fold: 'チャット一覧',
  search: '検索',
  favorites: {
    label: 'お気に入り',
    empty: 'お気に入り済みのスキルはありません。',
    hint: 'スキルの星を押すと、ここに追加されます。',
    loading: '読み込み中...',
  },
  notices: {
    label: (unread: number) => (unread > 0 ? `お知らせ、未読${unread}件` : 'お知らせ'),
    title: 'お知らせ',
    unread: (count: number) => `未読${count}件`,
    unreadMark: '未読',
    readAll: 'すべて既読にする',
    empty: 'お知らせはありません。',
    more: '詳しく見る',
  },
  menu: {
    label: (name: string) => `${name}さんのメニュー`,
    admin: '管理者画面',
    usage: {
      label: '今月のご利用',
      used: (messages: number, tokens: number, limit?: number) =>
        `回答${formatNumber(messages)}件・${formatNumber(tokens)}${limit === undefined ? '' : ` / ${formatNumber(limit)}`}トークン`,
      limit: '今月のトークン',
      reached: '上限に達しています。お急ぎの場合は、組織の管理者にご相談ください。',
      /** A day in the API's format, 2026-12-01. */
      resets: (day: string) => `${Number(day.slice(5, 7))}月${Number(day.slice(8, 10))}日にリセットされます`,
    },
    about: '回答のカスタマイズ',
    shares: '共有リンク',
    settings: 'アカウント設定',
    sessions: 'ログイン中の端末',
    faq: 'よくある質問',
    contact: 'お問い合わせ',
    terms: '利用規約',
    shortcuts: 'キーボードショートカット',
    theme: '外観モード',
    themes: { system: '端末の設定に合わせる', light: 'ライト', dark: 'ダーク' },
    sendKey: '質問を送信するキー',
    suggestions: '続きの質問の提案',
    notices: {
      label: '回答が完了したときの通知',
      denied:
        'ブラウザーで通知が許可されていません。ブラウザーのサイト設定でこのサイトの通知を許可してから、もう一度オンにしてください。',
    },
    signOut: 'ログアウト',
  },
} as const
