import { formatNumber } from '@/lib/ui/numbers'

/** Texts of uploads and downloads. */
export const texts = {
  refused: {
    kind: '対応していない形式です。PDF、Word、Excel、PowerPoint、テキスト、Markdown、CSV、TSV、HTMLのいずれかに変換してください。',
    old: (app: string, end: string) =>
      `古い形式のファイルには対応していません。${app}で開き、「名前を付けて保存」で${end}形式にしてください。`,
    none: 'フォルダーや、拡張子（.txtなど）のないファイルはアップロードできません。別のファイルを選択してください。',
    size: (megabytes: number) => `${megabytes} MBを超えています。ファイルを分割してください。`,
    empty: 'ファイルが空です。内容を確認して、選択し直してください。',
    unreadable: 'ファイルを開けませんでした。移動や変更がないか確認して、選択し直してください。',
  },
  uploadFailed: 'アップロードできませんでした。',
  downloadFailed: (name: string) => `「${name}」をダウンロードできませんでした。`,
  alreadyThere: (name: string, waits: boolean) =>
    `「${name}」と同じ内容のファイルがすでに${waits ? 'あり、読み取りを待っています' : 'あります'}。`,
  readingUnchanged: '読み取りの状態を変更できませんでした。もう一度お試しください。',
  deleted: (count: number) =>
    count === 1 ? 'ファイルを削除しました。' : `${formatNumber(count)}件のファイルを削除しました。`,
  deleteFailed: 'ファイルを削除できませんでした。',
} as const
