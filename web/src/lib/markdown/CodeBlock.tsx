import { WrapText } from 'lucide-react'
import { memo, type ReactNode, useMemo, useState } from 'react'
import { copyText } from '@/lib/browser/clipboard'
import { LazyPart, useLazyPart } from '@/lib/ui/lazyPart'
import styles from './code.module.css'
import type { highlight, Part } from './highlight'
import { fileExtension, languageName } from './languages'
import { texts } from './texts'
import { CopyButton, SaveButton, ToolButton } from './tools'
import tools from './tools.module.css'

const highlighter = new LazyPart(async () => (await import('./highlight')).highlight)

/**
 * Highlighting takes about a millisecond per kilobyte. Longer code would cause a noticeable delay, so it is shown
 * plain.
 */
const maxColoured = 30_000
/** While code grows, the settled part is highlighted in steps, not again for every token. */
const step = 4096

export interface CodeBlockProps {
  readonly code: string
  readonly language: string
  /** Whether more code will follow. */
  readonly growing?: boolean
}

const diagram = new LazyPart(async () => (await import('./Diagram')).Diagram)

/** A fenced code block. A diagram is rendered once it is complete. */
export function CodeBlock(props: CodeBlockProps) {
  const Diagram = useLazyPart(diagram, props.language === 'mermaid' && !props.growing)
  return Diagram ? (
    <Diagram code={props.code}>
      <Fence {...props} />
    </Diagram>
  ) : (
    <Fence {...props} />
  )
}

/** A fenced block as code: its language, buttons to wrap, save and copy it, and the code in a scrolling box. */
const Fence = memo(function Fence({ code, language, growing = false }: CodeBlockProps) {
  const name = languageName(language)
  const [wrapped, setWrapped] = useState(false)
  return (
    <div className={styles.code} data-fence>
      <div className={styles.head}>
        <span>{name || texts.code}</span>
        <div className={tools.tools} data-print="hide">
          <ToolButton Icon={WrapText} aria-pressed={wrapped} onClick={() => setWrapped(!wrapped)}>
            <span>{texts.wrap}</span>
          </ToolButton>
          {!growing && <Keep code={code} language={language} />}
        </div>
      </div>
      <pre
        className={styles.body}
        data-wrapped={wrapped || undefined}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable by keyboard.
        tabIndex={0}
        role="group"
        aria-label={texts.codeRegion(name)}
      >
        <code>
          <Coloured code={code} language={language} growing={growing} />
        </code>
      </pre>
    </div>
  )
})

function Keep({ code, language }: { code: string; language: string }) {
  const name = `${texts.codeFile}.${fileExtension(language)}`
  return (
    <>
      <SaveButton
        label={texts.saveCode(name)}
        text={texts.save}
        file={{ name, type: 'text/plain', body: () => `${code}\n` }}
      />
      <CopyButton copy={() => copyText(code)} />
    </>
  )
}

function Coloured({ code, language, growing }: Required<CodeBlockProps>) {
  const known = language !== '' && code.length <= maxColoured
  const colour = useLazyPart(highlighter, known)
  const settled = growing && code.length > step ? settledEnd(code) : code.length
  const head = code.slice(0, settled)
  const coloured = useMemo(() => (colour ? parts(colour, head, language) : head), [colour, head, language])
  return (
    <>
      {coloured}
      {code.slice(settled)}
    </>
  )
}

// settledEnd returns the end of the last line before the last full step. It moves once per step.
function settledEnd(code: string): number {
  return code.lastIndexOf('\n', Math.floor(code.length / step) * step) + 1
}

function parts(colour: typeof highlight, code: string, language: string): ReactNode {
  return colour(code, language).map(toNode)
}

function toNode(part: Part, key: number): ReactNode {
  if (typeof part === 'string') return part
  return (
    <span key={key} className={`hljs-${part.scope}`}>
      {part.parts.map(toNode)}
    </span>
  )
}
