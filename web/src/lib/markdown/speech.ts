import type { Nodes } from 'hast'
import { texts } from './texts'
import { isFormulaCode, treesOf } from './trees'

/** toSpeech returns the text of an answer for reading aloud: without code, formulas, citations and addresses. */
export async function toSpeech(text: string): Promise<string> {
  const lines = (await treesOf(text)).map(({ tree }) => spoken(tree))
  return lines
    .join('\n')
    .replace(/\[\^?\d{1,3}\]:?|https?:\/\/[^\s）」]+/g, '')
    .replace(/\s*\n\s*/g, '\n')
    .trim()
}

const blocks = /^(?:p|h[1-6]|li|tr|summary|br)$/

function spoken(node: Nodes): string {
  // Between blocks, a line break is only layout of the source.
  if (node.type === 'text') return node.value.trim() === '' ? node.value.replaceAll('\n', '') : node.value
  if (node.type !== 'element' && node.type !== 'root') return ''
  if (node.type === 'element') {
    if (node.tagName === 'pre') return `\n${isFormulaCode(node) ? texts.formula : texts.code}\n`
    if (isFormulaCode(node)) return texts.formula
    if (node.tagName === 'rt') return ''
    if (/^t[hd]$/.test(node.tagName)) return `${node.children.map(spoken).join('')}、`
    if (blocks.test(node.tagName)) return `${node.children.map(spoken).join('')}\n`
  }
  return node.children.map(spoken).join('')
}
