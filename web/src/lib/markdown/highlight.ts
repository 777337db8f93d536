import type { ElementContent, Root } from 'hast'
import bash from 'highlight.js/lib/languages/bash'
import cpp from 'highlight.js/lib/languages/cpp'
import csharp from 'highlight.js/lib/languages/csharp'
import css from 'highlight.js/lib/languages/css'
import diff from 'highlight.js/lib/languages/diff'
import go from 'highlight.js/lib/languages/go'
import ini from 'highlight.js/lib/languages/ini'
import java from 'highlight.js/lib/languages/java'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import php from 'highlight.js/lib/languages/php'
import powershell from 'highlight.js/lib/languages/powershell'
import python from 'highlight.js/lib/languages/python'
import ruby from 'highlight.js/lib/languages/ruby'
import rust from 'highlight.js/lib/languages/rust'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'
import vbnet from 'highlight.js/lib/languages/vbnet'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'
import rehypeHighlight from 'rehype-highlight'

// The languages an office asks about. Each costs 1–3 KB, and the grammars are built once, here.
const transform = rehypeHighlight({
  languages: {
    bash,
    cpp,
    csharp,
    css,
    diff,
    go,
    ini,
    java,
    javascript,
    json,
    php,
    powershell,
    python,
    ruby,
    rust,
    sql,
    typescript,
    vbnet,
    xml,
    yaml,
  },
  aliases: { vbnet: ['vba', 'vbs'], bash: ['shell', 'console', 'zsh'], typescript: ['tsx'], cpp: ['c', 'h'] },
  detect: false,
})

// It reports unknown languages here; the code is then shown as it is.
const file = { message: () => {} } as unknown as Parameters<typeof transform>[1]

/** The code as coloured parts, or as it is when the language is not known. */
export function highlight(code: string, language: string): readonly ElementContent[] {
  const tree: Root = {
    type: 'root',
    children: [
      {
        type: 'element',
        tagName: 'pre',
        properties: {},
        children: [
          {
            type: 'element',
            tagName: 'code',
            properties: { className: [`language-${language.toLowerCase()}`] },
            children: [{ type: 'text', value: code }],
          },
        ],
      },
    ],
  }
  transform(tree, file)
  const pre = tree.children[0]
  const element = pre?.type === 'element' ? pre.children[0] : undefined
  return element?.type === 'element' ? element.children : []
}
