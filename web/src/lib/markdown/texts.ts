/** The Japanese of rendered answers. */
export const texts = {
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
  formula: '数式',
  image: '画像',
  source: (index: number) => `出典${index}`,
} as const
