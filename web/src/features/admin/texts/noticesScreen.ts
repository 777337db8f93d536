import { noticeLevels } from '@/components/NoticeCard'

/** The list of the notices. */
export const notices = {
  title: 'お知らせ',
  lead: 'メンバーに伝えるお知らせを書き、掲載する期間を決めます。スキルの画面の上部と、ベルの一覧に表示されます。',
  add: 'お知らせを作成',
  none: 'お知らせはまだありません。',
  levels: noticeLevels,
  audiences: { all: '全員', admins: '管理者のみ' },
  states: { scheduled: '予約中', published: '掲載中', ended: '終了' },
  columns: {
    title: 'タイトル',
    state: '状態',
    level: '種類',
    audience: '宛先',
    period: '掲載期間',
  },
  period: (from: string, to: string) => `${from}〜${to}`,
  operators: '運用担当者またはシステムから',
  of: (title: string) => `「${title}」の`,
  ending: {
    action: '掲載を終了',
    confirm: '掲載を終了しますか？',
    body: (title: string) =>
      `「${title}」は、メンバーの画面に表示されなくなります。もう一度掲載することはできません。`,
    end: '掲載を終了',
    ended: 'お知らせの掲載を終了しました。',
    notEnded: 'お知らせの掲載を終了できませんでした。一覧を確認して、もう一度お試しください。',
  },
  deleting: {
    action: '削除',
    confirm: 'お知らせを削除しますか？',
    body: (title: string) => `「${title}」は掲載されません。削除すると元に戻せません。`,
    end: '削除する',
    ended: 'お知らせを削除しました。',
    notEnded: 'お知らせを削除できませんでした。一覧を確認して、もう一度お試しください。',
  },
} as const

/** A notice, and its form. */
export const notice = {
  titles: { add: 'お知らせの作成', edit: 'お知らせの編集', show: 'お知らせの内容' },
  back: '一覧に戻る',
  missing: 'お知らせが見つかりません。削除された可能性があります。',
  readOnly: {
    ended: '掲載が終了しているため、変更できません。',
    operators: '運用担当者またはシステムからのお知らせのため、変更できません。',
  },
  copy: '複製して作成',
  fields: {
    title: 'タイトル',
    body: '本文',
    bodyHint: '改行はそのまま表示されます。https:// で始まる文字列は、リンクになります。',
    url: '詳しい内容のURL',
    urlHint: '入力すると、本文の後に「詳しく見る」と表示されます。',
    level: '種類',
    audience: '宛先',
    from: '掲載の開始（日本時間）',
    fromHint: '空欄の場合は、すぐに掲載します。',
    fromScheduled: '空欄にすると、保存したときに掲載を始めます。',
    to: '掲載の終了（日本時間）',
    toHint: '空欄の場合は、終了の操作をするまで掲載します。',
    fixed: 'すでに掲載されているため、変更できません。',
  },
  count: (length: string, limit: string) => `${length} / ${limit}文字`,
  errors: {
    title: 'タイトルを入力してください。',
    titleLong: '200文字以内で入力してください。',
    bodyLong: '2,000文字以内で入力してください。',
    url: 'https:// または http:// で始まるURLを入力してください。',
    past: 'これからの日時を指定してください。',
    order: '掲載の開始より後の日時を指定してください。',
  },
  preview: {
    title: '表示の確認',
    lead: 'メンバーの画面では、このように表示されます。',
    untitled: '（タイトル）',
  },
  submit: { now: '掲載する', later: '予約する', save: '保存する' },
  done: {
    now: 'お知らせを掲載しました。',
    later: 'お知らせの掲載を予約しました。',
    save: 'お知らせを保存しました。',
  },
} as const
