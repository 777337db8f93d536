function stepsBy(unit: string) {
  return { previous: `前の${unit}`, next: `次の${unit}`, field: `${unit}番号` }
}

/** Texts of the viewer. */
export const texts = {
  label: (name: string) => `ファイル「${name}」`,
  loadingLabel: 'ファイル',
  close: 'ファイルを閉じる',
  download: '原本をダウンロード',
  view: '表示の切り替え',
  views: { page: 'ページ', text: 'テキスト' },
  tools: '表示の操作',
  pages: {
    page: { ...stepsBy('ページ'), name: (n: number) => `${n}ページ` },
    slide: { ...stepsBy('スライド'), name: (n: number) => `スライド${n}` },
    sheet: { ...stepsBy('シート'), name: (n: number) => `シート${n}` },
  },
  citations: {
    previous: '前の出典',
    next: '次の出典',
    at: (index: number | undefined, at: number, count: number) =>
      index === undefined ? `出典 ${at}/${count}` : `出典${index}（${at}/${count}）`,
    mark: '出典の箇所',
  },
  zoom: {
    in: '拡大',
    out: '縮小',
    width: '幅に合わせる',
    whole: '全体を表示',
    percent: (zoom: number) => `${Math.round(zoom * 100)}%`,
  },
  notLocated: '位置を特定できなかったため、ページに印を付けていません。',
  showText: 'テキストで確認',
  picture: (name: string, page: string) => `「${name}」${page}`,
  pictureFailed: 'ページを表示できませんでした',
  loading: '読み込み中...',
  failed: 'ファイルを読み込めませんでした',
  gone: 'このファイルは表示できません',
  goneHint: '削除されたか、表示する権限がありません。',
  passageGone: '出典の箇所が見つかりません。ファイルがもう一度読み取られた可能性があります。',
  reading: '読み取りが終わると、ここに表示されます。',
  unread: '読み取れなかったファイルです',
  textFailed: 'テキストを読み込めませんでした',
  sheet: 'シートの表',
  noText: 'テキストはありません',
  earlier: '前の部分を表示',
} as const
