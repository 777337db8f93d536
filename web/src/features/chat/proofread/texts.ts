import type { ChangeKind } from '@/lib/stream'
import { formatNumber } from '@/lib/ui/numbers'
import type { Decision } from './review'

const decisions: Readonly<Record<Decision, string>> = { accepted: '採用', refused: '不採用' }

/** Texts of the proofreading view. */
export const texts = {
  label: '校正の結果',
  reading: '文章を確認しています',
  found: (count: number) => `修正が必要な箇所が${formatNumber(count)}件あります`,
  none: '修正が必要な箇所はありませんでした。',
  noneChecked: '確認できた範囲では、修正が必要な箇所はありませんでした。',
  checked: (length: number) => `${formatNumber(length)}文字を確認しました。`,
  original: '元の文章',
  corrected: '校正後',

  mode: {
    label: '文章の表示',
    split: '並べて表示',
    joined: 'まとめて表示',
  },

  kinds: {
    typo: '誤字',
    variation: '表記ゆれ',
    honorific: '敬語',
    wordy: '冗長',
    fact: '事実の確認',
  } satisfies Record<ChangeKind, string>,
  filter: '修正案の種類',
  all: 'すべて',
  kindCount: (name: string, count: number) => `${name} ${formatNumber(count)}`,

  list: '修正案の一覧',
  question: '要確認',
  spoken: (words: {
    kind: string
    question: boolean
    before: string
    after: string
    reason: string
    decision: Decision | undefined
  }) =>
    [
      words.question ? `${words.kind}、要確認` : words.kind,
      change(words.before, words.after),
      words.reason,
      words.decision && decisions[words.decision],
    ]
      .filter(Boolean)
      .join('。'),
  change,
  accept: '採用する',
  refuse: '採用しない',
  confirm: '確認した',
  acceptAll: 'すべて採用',
  refuseAll: 'すべて元に戻す',
  acceptShown: (kind: string) => `${kind}をすべて採用`,
  refuseShown: (kind: string) => `${kind}をすべて元に戻す`,
  accepted: (count: number) => `${formatNumber(count)}件の修正案を採用しました。`,
  refused: (count: number) => `${formatNumber(count)}件を元の文章に戻しました。`,
  undo: '取り消す',
  counts: (accepted: number, refused: number, open: number) =>
    `採用 ${formatNumber(accepted)}・不採用 ${formatNumber(refused)}・未確認 ${formatNumber(open)}`,
  decided: (decision: Decision | null, open: number) =>
    `${decision === null ? '未確認に戻しました' : `${decisions[decision]}にしました`}。未確認は${formatNumber(open)}件です。`,
  openNote: '未確認の修正案は、校正後の文章に反映されます。要確認の箇所は、採用するまで反映されません。',
  keys: 'J・Kで前後の修正案に移り、Aで採用、Rで不採用にします。',

  saving: '保存しています',
  saved: '保存しました',
  retrying: '保存できていません。接続が戻ると保存します。',

  sheet: {
    previous: '前の修正案',
    next: '次の修正案',
    close: '閉じる',
    position: (at: number, count: number) => `修正案（${formatNumber(count)}件中${formatNumber(at)}件目）`,
  },

  result: {
    copy: '校正後の文章をコピー',
    unanswered: (count: number) => `コピーした文章では、要確認の${formatNumber(count)}件は元のままです。`,
    word: 'Wordで保存',
    tracked: '変更履歴つき',
    applied: '反映済み',
    wordFailed: 'Wordのファイルを保存できませんでした。',
  },

  dropped: (count: number) => `本文と照合できなかった${formatNumber(count)}件を除外しました。`,
  unchecked: '次の箇所は、校正できませんでした。時間をおいて、その部分をもう一度お試しください。',
  range: (beginning: string, length: number) => `「${beginning}…」からの${formatNumber(length)}文字`,
} as const

function change(before: string, after: string): string {
  if (before === after) return `「${before}」`
  if (after === '') return `「${before}」を削除`
  return before === '' ? `「${after}」を挿入` : `「${before}」を「${after}」に`
}
