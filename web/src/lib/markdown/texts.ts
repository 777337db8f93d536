/** The Japanese of rendered answers. */
export const texts = {
  copy: 'コピー',
  copied: 'コピーしました',
  copyFailed: 'コピーできませんでした',
  code: 'コード',
  codeRegion: (language: string) => `${language}のコード`,
  table: '表',
  formula: '数式',
  image: '画像',
  source: (index: number) => `出典${index}`,
} as const
