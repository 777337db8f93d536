const japanese = {
  copy: 'コピー',
  copied: 'コピーしました',
  copyFailed: 'コピーできませんでした',
  code: 'コード',
  codeRegion: (language: string) => `${language}のコード`,
  wrap: '折り返す',
  save: '保存',
  saveCode: (name: string) => `${name}として保存`,
  codeFile: 'コード',
  table: '表',
  copyTable: '表をコピー',
  saveTable: '表をCSVで保存',
  csv: 'CSVで保存',
  saveFailed: '保存できませんでした',
  diagram: '図',
  drawn: (kind: string) => `${kind}（内容は「コードを表示」で読めます）`,
  diagramKinds: {
    flowchart: 'フローチャート',
    graph: 'フローチャート',
    sequence: 'シーケンス図',
    gantt: 'ガントチャート',
    pie: '円グラフ',
    class: 'クラス図',
    classDiagram: 'クラス図',
    state: '状態遷移図',
    stateDiagram: '状態遷移図',
    er: 'ER図',
    mindmap: 'マインドマップ',
    timeline: '年表',
    journey: 'ユーザージャーニー',
    gitGraph: 'Gitグラフ',
    quadrantChart: '4象限図',
    xychart: 'グラフ',
    kanban: 'カンバン',
  } as Readonly<Record<string, string>>,
  asCode: 'コードを表示',
  saveSvg: '図をSVGで保存',
  savePng: '図をPNGで保存',
  copySource: '図のコードをコピー',
  enlarge: '図を拡大',
  diagramTools: '図の操作',
  close: '閉じる',
  formula: '数式',
  image: '画像',
  task: '未完了',
  taskDone: '完了',
  alerts: { note: '補足', tip: 'ヒント', important: '重要', warning: '警告', caution: '注意' },
  note: (index: number) => `脚注${index}`,
  noteBack: (index: number) => `脚注${index}の参照元に戻る`,
} as const

type Translated<T> = T extends string
  ? string
  : T extends (...values: infer V) => string
    ? (...values: V) => string
    : { readonly [K in keyof T]: Translated<T[K]> }

/** The texts of rendered answers, in some language. */
export type MarkdownTexts = Translated<typeof japanese>

/** The texts of rendered answers: Japanese, unless the program has set others. */
export let texts: MarkdownTexts = japanese

/** Sets the texts of rendered answers, for a program in another language. It must be called before the first answer. */
export function setMarkdownTexts(translated: MarkdownTexts): void {
  texts = translated
}
