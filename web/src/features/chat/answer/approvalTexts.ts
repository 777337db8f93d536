import type { ToolApproval } from '@/lib/api'

/** The texts of the card for calls that need a decision. */
export const texts = {
  title: (tool: string) => `${tool}の実行を承認しますか`,
  causes: {
    rule: 'このツールは、実行の前に承認が必要です。',
    untrusted: '外部の内容を読んだ後の、変更を伴う実行です。内容をよく確認してください。',
    unknown:
      'この実行は、障害の前に行われた可能性があり、結果が分かりません。承認すると、もう一度実行します。',
  } satisfies Record<ToolApproval['cause'], string>,
  others: (tool: string) => `質問した人が${tool}の実行を承認するのを待っています。`,
  expires: (at: string) => `${at}までに承認しないと、実行せずに回答を続けます。`,
  input: '入力',
  json: 'JSONを表示',
  edit: '入力を変更',
  edited: '入力（JSON）',
  invalid: 'JSONのオブジェクトで入力してください。',
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
  failed: '送信できませんでした。もう一度お試しください。',
} as const
