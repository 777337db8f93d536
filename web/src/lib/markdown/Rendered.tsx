import { Component, memo, type ReactNode, useMemo, useRef } from 'react'
import ReactMarkdown from 'react-markdown'
import { LazyPart, useLazyPart } from '@/lib/ui/lazyPart'
import { CodeBlock } from './CodeBlock'
import { BlockContext, elements } from './elements'
import { loadFormulaStyles } from './formulaStyles'
import { headingsAbove, rehypeHeadings } from './headings'
import styles from './markdown.module.css'
import type { MarkdownProps } from './markdownProps'
import { rehypeAlerts, rehypeBreaks, rehypeCitations, rehypeNotes, remarkPlugins } from './plugins'
import { prepare } from './prepare'
import { type Reference, referencesOf } from './references'
import { repairTail } from './repair'
import { safeUrl } from './safeUrl'
import { type Content, GrowingText, splitBlocks } from './split'
import { rehypeTags } from './tags'

const formulas = new LazyPart(
  async () => (await Promise.all([import('./math'), loadFormulaStyles()]))[0].math,
)

/** Rendered renders a text block by block. While the text grows, only its last block is rendered again. */
export function Rendered({ text, growing = false, cut = false, Citation, onBlock }: MarkdownProps) {
  const grown = useRef<GrowingText>(null)
  grown.current ??= new GrowingText()
  const open = growing || cut
  const blocks = useMemo(() => (open ? grown.current?.update(text) : splitBlocks(text)) ?? [], [text, open])
  const references = useMemo(() => referencesOf(blocks), [blocks])
  const headings = useMemo(() => headingsAbove(blocks), [blocks])
  const last = blocks.length - 1
  return (
    <div className={styles.markdown}>
      {blocks.map((block, index) => (
        <BlockView
          // biome-ignore lint/suspicious/noArrayIndexKey: blocks never move; the last one is replaced in place.
          key={index}
          source={block.source}
          kind={block.kind}
          definitions={references[index]?.definitions ?? ''}
          notes={references[index]?.notes ?? ''}
          above={headings[index] ?? ''}
          open={open && index === last}
          growing={growing && index === last}
          Citation={Citation}
          onBlock={onBlock}
        />
      ))}
    </div>
  )
}

interface BlockProps extends Content, Reference {
  /** The headings above the block; see `headingsAbove`. */
  readonly above: string
  /** Whether the block may end inside open syntax. */
  readonly open: boolean
  /** Whether more of the block will follow. */
  readonly growing: boolean
  readonly Citation: MarkdownProps['Citation']
  readonly onBlock?: MarkdownProps['onBlock']
}

const BlockView = memo(function BlockView({ onBlock, ...props }: BlockProps) {
  const { source, open, growing } = props
  onBlock?.(source)
  const shown = open ? repairTail(props) : source
  const fence = props.kind === 'code' ? readFence(shown) : null
  if (fence !== null) return <CodeBlock {...fence} growing={growing} />
  return (
    <Plain source={source}>
      <MarkedUp {...props} source={shown} />
    </Plain>
  )
})

function MarkedUp({ above, definitions, notes, open, growing, Citation, ...content }: BlockProps) {
  const prepared = prepare(content)
  const math = useLazyPart(formulas, prepared.math)
  const context = useMemo(
    () => ({ growing, Citation, Formula: math?.Formula ?? null }),
    [growing, Citation, math],
  )
  return (
    <BlockContext value={context}>
      <ReactMarkdown
        remarkPlugins={math ? [...remarkPlugins, math.remark] : remarkPlugins}
        rehypePlugins={[
          rehypeTags(open),
          rehypeAlerts,
          rehypeBreaks,
          rehypeNotes(notes === '' ? [] : notes.split('\n')),
          rehypeCitations,
          rehypeHeadings(above),
        ]}
        components={elements}
        urlTransform={safeUrl}
      >
        {definitions === '' ? prepared.markdown : `${definitions}\n\n${prepared.markdown}`}
      </ReactMarkdown>
    </BlockContext>
  )
}

/** Plain shows a block as plain text if rendering fails, usually because of excessive nesting. */
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

/** readFence parses a top-level fence, because Markdown has nothing to parse in it. Null for indented code. */
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
