import type { JobStatus } from '@/lib/api'

/** The words of the data sources. */
export const texts = {
  title: 'データソース',
  lead: '資料のファイルをアップロードすると、内容を読み取って保存します。資料への質問は、まだご利用いただけません。',
  add: {
    label: 'ファイルのアップロード',
    drop: 'ここにファイルをドラッグ＆ドロップ',
    choose: 'ファイルを選択',
    kinds: 'PDF、Word、Excel、PowerPoint、テキスト、Markdown、CSV、TSV、HTML',
    limit: (megabytes: number) => `1件${megabytes} MBまで`,
    paste: '貼り付けでも追加できます',
  },
  refused: {
    kind: '対応していない形式です。PDF、Word、Excel、PowerPoint、テキスト、Markdown、CSV、TSV、HTMLのいずれかに変換してください。',
    old: (app: string, end: string) =>
      `古い形式のファイルには対応していません。${app}で開き、「名前を付けて保存」で${end}形式にしてください。`,
    none: 'フォルダーや、拡張子（.txtなど）のないファイルはアップロードできません。別のファイルを選択してください。',
    size: (megabytes: number) => `${megabytes} MBを超えています。ファイルを分割してください。`,
    empty: 'ファイルが空です。内容を確認して、選択し直してください。',
    unreadable: 'ファイルを開けませんでした。移動や変更がないか確認して、選択し直してください。',
  },
  uploads: {
    label: 'アップロードの状況',
    waiting: '待機中',
    sending: (percent: number) => `${percent}%`,
    storing: '保存中',
    failed: 'アップロードできませんでした。',
    progress: (name: string) => `「${name}」のアップロード`,
    cancel: (name: string) => `「${name}」のアップロードを中止`,
    retry: '再試行',
    retryLabel: (name: string) => `「${name}」のアップロードを再試行`,
    dismiss: (name: string) => `「${name}」の表示を閉じる`,
  },
  list: {
    label: 'データソースの一覧',
    name: '名前',
    kind: '種類',
    size: 'サイズ',
    pages: 'ページ数',
    status: '状態',
    created: 'アップロード日',
    actions: '操作',
    pageUnit: 'ページ',
    unread: '–',
    loading: '読み込み中...',
    error: '読み込みに失敗しました',
    reload: '再試行',
    empty: 'ファイルはまだありません。',
    emptyHint: '議事録や手順書などのファイルをアップロードすると、ここに並びます。',
  },
  status: {
    pending: '待機中',
    running: '読み取り中',
    success: '読み取り済み',
    failed: '読み取れませんでした',
  } satisfies Record<JobStatus, string>,
  progress: {
    reading: (done: number, total: number) =>
      total > 0
        ? `読み取り中 ${done.toLocaleString('ja-JP')}/${total.toLocaleString('ja-JP')}ページ`
        : '読み取り中',
    indexing: () => '索引を作成中',
    embedding: (done: number, total: number) =>
      total > 0
        ? `意味を解析中 ${done.toLocaleString('ja-JP')}/${total.toLocaleString('ja-JP')}`
        : '意味を解析中',
  },
  stop: (name: string) => `「${name}」の読み取りを中止`,
  again: 'やり直す',
  againLabel: (name: string) => `「${name}」の読み取りをやり直す`,
  download: (name: string) => `「${name}」をダウンロード`,
  downloadFailed: (name: string) => `「${name}」をダウンロードできませんでした。`,
  delete: (name: string) => `「${name}」を削除`,
  said: {
    ready: (name: string) => `「${name}」を読み取りました。`,
    readyMany: (count: number) => `${count}件のファイルを読み取りました。`,
    failed: (name: string, reason: string) => `「${name}」を読み取れませんでした。${reason}`,
    failedMany: (count: number) => `${count}件のファイルを読み取れませんでした。`,
    refused: (name: string, reason: string) => `「${name}」をアップロードできませんでした。${reason}`,
    refusedMany: (count: number) => `${count}件のファイルをアップロードできませんでした。`,
  },
} as const
