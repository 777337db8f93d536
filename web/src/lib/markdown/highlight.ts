import hljs from 'highlight.js/lib/core'
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
import shell from 'highlight.js/lib/languages/shell'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'
import vbnet from 'highlight.js/lib/languages/vbnet'
import xml from 'highlight.js/lib/languages/xml'
import yaml from 'highlight.js/lib/languages/yaml'

// The languages that offices use. Each adds 1–3 KB; rehype-highlight would add 37 of them.
const languages = {
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
  shell,
  sql,
  typescript,
  vbnet,
  xml,
  yaml,
}
for (const [name, language] of Object.entries(languages)) hljs.registerLanguage(name, language)
hljs.registerAliases(['vba', 'vbs'], { languageName: 'vbnet' })
hljs.registerAliases(['zsh'], { languageName: 'bash' })

/** Part is a piece of code: plain text, or a token with a color. */
export type Part = string | { readonly scope: string; readonly parts: readonly Part[] }

interface Scope {
  readonly scope?: string
  readonly children: ReadonlyArray<string | Scope>
}

/**
 * highlight returns the code as highlighted parts, or plain if the language is unknown. The parts come from the tokens
 * themselves, so no HTML is generated or injected.
 */
export function highlight(code: string, language: string): readonly Part[] {
  if (hljs.getLanguage(language) === undefined) return [code]
  const { _emitter } = hljs.highlight(code, { language, ignoreIllegals: true })
  return toParts((_emitter as unknown as { rootNode: Scope }).rootNode)
}

function toParts({ children }: Scope): readonly Part[] {
  return children.map((child) =>
    typeof child === 'string' ? child : { scope: child.scope?.split('.')[0] ?? '', parts: toParts(child) },
  )
}
