/** The texts of a shared thread's page. */
export const texts = {
  shared: (name: string, at: string) => `${name}さんが共有・${at}時点`,
  own: (at: string) => `自分が共有・${at}時点`,
  note: '組織内で共有されているチャットです。閲覧のみできます。',
  messages: 'メッセージ',
  question: '質問',
  answer: '回答',
  pictures: (count: number) => `画像${count}枚（共有には含まれません）`,
  sources: '出典',
  page: (page: number) => `${page}ページ`,
  endings: {
    stopped: '回答は途中で停止されています。',
    length: '文字数の上限に達したため、回答は途中までです。',
    error: '回答は最後まで作成されていません。',
  } as Readonly<Record<string, string>>,
  more: '続きを表示',
  moreFailed: '続きを読み込めませんでした。',
  copy: '自分のチャットとして続ける',
  copyHint: '表示されている質問と回答を、自分のチャットに写します。元のチャットには影響しません。',
  copyFailed: 'チャットを続けられませんでした。',
  open: '元のチャットを開く',
} as const
