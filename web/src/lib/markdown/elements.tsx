import { ImageOff } from 'lucide-react'
import { type ComponentType, createContext, type ReactNode, useContext } from 'react'
import type { Components, ExtraProps } from 'react-markdown'
import { Checkbox } from '@/lib/ui/Checkbox'
import { CodeBlock } from './CodeBlock'
import styles from './markdown.module.css'
import type { CitationProps } from './markdownProps'
import type { FormulaProps } from './math'
import { Table } from './Table'
import { texts } from './texts'

/** The common state of a block's elements. */
export interface BlockState {
  /** Whether more of the block will follow. */
  readonly growing: boolean
  /** Renders citations; without it they are text. */
  readonly Citation: ComponentType<CitationProps> | undefined
  /** Renders formulas; null until the renderer has been loaded. */
  readonly Formula: ComponentType<FormulaProps> | null
}

export const BlockContext = createContext<BlockState>({ growing: false, Citation: undefined, Formula: null })

function Anchor({ href = '', children }: { href?: string | undefined; children?: ReactNode }) {
  if (href === '') return <span>{children}</span>
  return (
    <a href={href} target="_blank" rel="noopener noreferrer" data-bare={children === href || undefined}>
      {children}
    </a>
  )
}

/** Pictures are not loaded, because a URL could leak the conversation to a third party. */
function Picture({ src, alt = '' }: { src?: string | undefined; alt?: string | undefined }) {
  const label = alt || texts.image
  return (
    <span className={styles.picture}>
      <ImageOff size={14} strokeWidth={1.75} aria-hidden="true" />
      <Anchor href={src}>{label}</Anchor>
    </span>
  )
}

type CodeElement = NonNullable<ExtraProps['node']>

function Fence({ node }: ExtraProps) {
  const { growing, Formula } = useContext(BlockContext)
  const code = node?.children[0]
  if (code?.type !== 'element') return null
  const names = classNames(code)
  const text = textOf(code)
  if (names.includes('math-display') && Formula) return <Formula tex={text} display />
  const language = names.find((name) => name.startsWith('language-'))?.slice(9) ?? ''
  return <CodeBlock code={text.replace(/\n$/, '')} language={language} growing={growing} />
}

function Code({ node, children }: ExtraProps & { children?: ReactNode }) {
  const { Formula } = useContext(BlockContext)
  if (Formula && node && classNames(node).includes('math-inline'))
    return <Formula tex={textOf(node)} display={false} />
  return <code>{children}</code>
}

function classNames(element: CodeElement): readonly string[] {
  const names = element.properties.className
  return Array.isArray(names) ? names.map(String) : []
}

function textOf(element: CodeElement): string {
  return element.children.map((child) => (child.type === 'text' ? child.value : '')).join('')
}

function TableElement({ node, children }: ExtraProps & { children?: ReactNode }) {
  const { growing } = useContext(BlockContext)
  return (
    <Table node={node} growing={growing}>
      {children}
    </Table>
  )
}

function Cite({ value, weak }: { value?: unknown; weak: boolean }) {
  const { Citation } = useContext(BlockContext)
  const note = noteNumber(value)
  if (note !== null)
    return String(value).endsWith('↩') ? <NoteBack index={note} /> : <NoteLink index={note} />
  const index = Number(value)
  return Citation ? <Citation index={index} weak={weak} /> : `[${index}]`
}

/** noteNumber returns the number of a footnote, which a mark distinguishes from a citation; null for other elements. */
function noteNumber(value: unknown): number | null {
  const number = /^\^(\d+)/.exec(String(value))?.[1]
  return number === undefined ? null : Number(number)
}

function NoteLink({ index }: { index: number }) {
  return (
    <button
      type="button"
      className={styles.cite}
      aria-label={texts.note(index)}
      data-note-link={index}
      onClick={({ currentTarget }) => {
        for (const link of within(currentTarget, `[data-note-link="${index}"]`))
          link.toggleAttribute('data-left', link === currentTarget)
        goTo(within(currentTarget, `[data-note="${index}"]`)[0])
      }}
    >
      {index}
    </button>
  )
}

/** The link from a note back to the reference that the reader followed, or to its first reference. */
function NoteBack({ index }: { index: number }) {
  return (
    <button
      type="button"
      className={styles.back}
      aria-label={texts.noteBack(index)}
      onClick={({ currentTarget }) => {
        const links = within(currentTarget, `[data-note-link="${index}"]`)
        goTo(links.find((link) => link.hasAttribute('data-left')) ?? links[0])
      }}
    >
      ↩
    </button>
  )
}

function within(element: Element, selector: string): HTMLElement[] {
  return [...(element.closest(`.${styles.markdown}`)?.querySelectorAll<HTMLElement>(selector) ?? [])]
}

function goTo(place: HTMLElement | undefined): void {
  place?.scrollIntoView({ block: 'nearest', behavior: 'smooth' })
  place?.focus({ preventScroll: true })
}

function NoteMark({ value }: { value?: unknown }) {
  const index = noteNumber(value)
  return (
    <span className={styles.cite} data-note={index} tabIndex={-1}>
      {index}
    </span>
  )
}

/** The read-only checkbox of a task. */
function Task({ checked }: { checked?: boolean | undefined }) {
  return <Checkbox checked={checked ?? false} disabled aria-label={checked ? texts.taskDone : texts.task} />
}

/** The components for the elements of an answer. */
export const elements: Components = {
  a: ({ href, children }) => <Anchor href={href}>{children}</Anchor>,
  img: ({ src, alt }) => <Picture src={typeof src === 'string' ? src : undefined} alt={alt} />,
  pre: Fence,
  code: Code,
  table: TableElement,
  button: ({ value, node }) => <Cite value={value} weak={node?.properties.dataWeak === true} />,
  input: ({ checked }) => <Task checked={checked} />,
  data: ({ value }) => <NoteMark value={value} />,
}
