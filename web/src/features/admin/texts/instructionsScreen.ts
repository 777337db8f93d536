/** The screen of the organization's instructions. */
export const instructions = {
  title: '組織の指示',
  lead: 'すべてのスキルに共通で伝える指示です。メンバーの質問のたびにモデルへ送られ、メンバーも内容を確認できます。',
  label: '指示',
  example: '例：社外に出す文書では、正式名称「株式会社○○」を使う。\n例：未発表の製品名や顧客名は書かない。',
  count: (length: string, limit: string) => `${length} / ${limit}文字`,
  tooLong: (limit: string) => `${limit}文字以内で入力してください。`,
  save: '保存する',
  saved: '組織の指示を保存しました。次の質問から使われます。',
  notSaved: (why: string) => `保存できませんでした。${why}`,
} as const
