import type { ToolApproval } from '@/lib/api'

/** The texts of the card for calls that need a decision. */
export const texts = {
  title: (tool: string) => `${tool}の実行を承認しますか？`,
  causes: {
    rule: 'このツールは、実行の前に承認が必要です。',
    untrusted: '外部の内容を読んだ後の、変更を伴う実行です。内容をよく確認してください。',
    unknown:
      'この実行は、障害の前に行われた可能性があり、結果が分かりません。承認すると、もう一度実行します。',
    input: 'このツールは、途中で入力を求めています。',
  } satisfies Record<ToolApproval['cause'], string>,
  others: (tool: string) => `質問した人が${tool}の実行を承認するのを待っています。`,
  expires: (at: string) => `${at}までに承認しないと、実行せずに回答を続けます。`,
  input: '入力',
  json: 'JSONを表示',
  edit: '入力を変更',
  edited: '入力（JSON）',
  invalid: 'JSONのオブジェクトで入力してください。',
  repeatedName: '同じ名前の項目が二つ以上あります。',
  longNumber:
    '桁数の多い数は、この画面では正確に送信できません。文字列（"123…"）にするか、変更をやめて承認してください。',
  invisible: '見えない文字が含まれています。「\uFFFD」がその位置です。',
  cancelEdit: '変更をやめる',
  remember: 'このチャットでは今後も許可',
  rememberHint: 'このツールだけが対象です。外部の内容を読んだ後の変更には、その都度の承認が必要です。',
  reason: '拒否の理由',
  reasonHint: 'アシスタントに伝えます。',
  optional: '任意',
  approve: '承認',
  approveEdited: '変更して承認',
  refuse: '拒否',
  confirmRefusal: '拒否する',
  back: '戻る',
  inputs: {
    title: (server: string) => `「${server}」が入力を求めています`,
    note: (tool: string) =>
      `「${tool}」の実行の途中です。下の文と項目はサーバーが書いたもので、入力した内容はサーバーに送られます。パスワードなどの秘密は入力しないでください。`,
    others: (tool: string) => `質問した人が${tool}に入力するのを待っています。`,
    expires: (at: string) => `${at}までに送信しないと、入力なしで回答を続けます。`,
    send: '送信',
    decline: '断る',
    cancel: 'キャンセル',
    choose: '選択してください。',
    required: '入力してください。',
    number: '数字で入力してください。',
    integer: '整数で入力してください。',
    minimum: (n: number) => `${n}以上の数を入力してください。`,
    maximum: (n: number) => `${n}以下の数を入力してください。`,
    choices: (min: number, max: number) => {
      if (max > 0 && min > 0) return `${min === max ? max : `${min}〜${max}`}個選択してください。`
      if (max > 0) return `${max}個まで選択できます。`
      return min > 1 ? `${min}個以上選択してください。` : ''
    },
    tooFew: (n: number) => `${n}個以上選択してください。`,
    tooMany: (limit: number, n: number) => `選択できるのは${limit}個までです（現在${n}個）。`,
    tooShort: (n: number) => `${n}文字以上で入力してください。`,
    tooLong: (limit: number, n: number) => `${limit}文字以内で入力してください（現在${n}文字）。`,
  },
  failed: '送信できませんでした。もう一度お試しください。',
} as const
