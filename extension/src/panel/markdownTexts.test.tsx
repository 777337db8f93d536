import { renderToStaticMarkup } from 'react-dom/server'
import { expect, test } from 'vitest'
import { setMarkdownTexts } from '@/lib/markdown'
import { Rendered } from '@/lib/markdown/Rendered'
import { english } from './markdownTexts'

const answer = [
  '| a | b |\n| --- | --- |\n| 1 | 2 |',
  '```ts\nconst a = 1\n```',
  '> [!WARNING]\n> text',
  '![](https://www.example.com/a.png)',
  'text[^1]\n\n[^1]: note',
].join('\n\n')

test('an answer in English contains no Japanese texts', () => {
  const japanese = /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}]/u
  expect(renderToStaticMarkup(<Rendered text={answer} />)).toMatch(japanese)
  setMarkdownTexts(english)
  const html = renderToStaticMarkup(<Rendered text={answer} />)
  for (const words of ['Copy table', 'Save as CSV', 'Wrap lines', 'Save as code.ts', 'Warning', 'Footnote 1'])
    expect(html).toContain(words)
  expect(html).not.toMatch(japanese)
})
