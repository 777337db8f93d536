import { Component, memo, type ReactNode, useMemo, useRef } from 'react'
import ReactMarkdown from 'react-markdown'
import { LazyPart, useLazyPart } from '@/lib/lazyPart'
import { CodeBlock } from './CodeBlock'
import { BlockContext, elements, safeUrl } from './elements'
import { loadFormulaStyles, type MarkdownProps } from './Markdown'
import styles from './markdown.module.css'
import { rehypeBreaks, rehypeCitations, remarkPlugins } from './plugins'
import { prepare } from './prepare'
import { repairTail } from './repair'
import { type Block, GrowingText, splitBlocks } from './split'

const formulas = new LazyPart(
  async () => (await Promise.all([import('./math'), loadFormulaStyles()]))[0].math,
)

const none: ReadonlySet<number> = new Set()

/** Renders a text block by block; while it grows, only its last block is rendered anew. */
export function Rendered({ text, growing = false, citations = none, onCite = null, onBlock }: MarkdownProps) {
  const grown = useRef<GrowingText>(null)
  grown.current ??= new GrowingText()
  const blocks = useMemo(
    () => (growing ? grown.current?.update(text) : splitBlocks(text)) ?? [],
    [text, growing],
  )
  const last = blocks.length - 1
  return (
    <div className={styles.markdown}>
      {blocks.map((block, index) => (
        <BlockView
          // biome-ignore lint/suspicious/noArrayIndexKey: blocks never move; the last one is replaced where it stands.
          key={index}
          block={block}
          tail={growing && index === last}
          citations={citations}
          onCite={onCite}
          onBlock={onBlock}
        />
      ))}
    </div>
  )
}

interface BlockProps extends Required<Pick<MarkdownProps, 'citations' | 'onCite'>> {
  readonly block: Block
  readonly tail: boolean
  readonly onBlock: MarkdownProps['onBlock']
}

const BlockView = memo(
  function BlockView({ block, tail, citations, onCite, onBlock }: BlockProps) {
    onBlock?.(block.source)
    const shown = tail ? repairTail(block) : block
    const fence = shown.kind === 'code' ? readFence(shown.source) : null
    if (fence !== null) return <CodeBlock {...fence} growing={tail} />
    return (
      <Plain source={block.source}>
        <MarkedUp block={shown} growing={tail} citations={citations} onCite={onCite} />
      </Plain>
    )
  },
  (a, b) =>
    a.block.source === b.block.source &&
    a.block.kind === b.block.kind &&
    a.tail === b.tail &&
    a.citations === b.citations &&
    a.onCite === b.onCite,
)

function MarkedUp({
  block,
  growing,
  citations,
  onCite,
}: Omit<BlockProps, 'tail' | 'onBlock'> & { growing: boolean }) {
  const prepared = prepare(block)
  const math = useLazyPart(formulas, prepared.math)
  const context = useMemo(
    () => ({ growing, onCite, Formula: math?.Formula ?? null }),
    [growing, onCite, math],
  )
  return (
    <BlockContext value={context}>
      <ReactMarkdown
        remarkPlugins={math ? [...remarkPlugins, math.remark] : remarkPlugins}
        rehypePlugins={[rehypeBreaks, rehypeCitations(citations)]}
        components={elements}
        urlTransform={safeUrl}
      >
        {prepared.markdown}
      </ReactMarkdown>
    </BlockContext>
  )
}

/** Shows a block as it was typed when it cannot be rendered: a text nested out of all reason, above all. */
class Plain extends Component<{ source: string; children: ReactNode }, { failed: true | null }> {
  override state = { failed: null }

  static getDerivedStateFromError() {
    return { failed: true }
  }

  override componentDidUpdate(before: { source: string }) {
    if (this.state.failed && before.source !== this.props.source) this.setState({ failed: null })
  }

  override render() {
    return this.state.failed ? <p className={styles.plain}>{this.props.source}</p> : this.props.children
  }
}

/** A top-level fence is read here: there is nothing in it for Markdown to look at. Null for code by indentation. */
function readFence(source: string): { code: string; language: string } | null {
  const open = /^ {0,3}(`{3,}|~{3,})[ \t]*([^\s`]*)[^\n]*\n?/.exec(source)
  if (open === null) return null
  const mark = open[1] ?? '```'
  const close = new RegExp(`(?:^|\\n) {0,3}\\${mark[0]}{${mark.length},}[ \\t]*\\n*$`)
  return {
    code: source.slice(open[0].length).replace(close, '').replace(/\n+$/, ''),
    language: open[2] ?? '',
  }
}
