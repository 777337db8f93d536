import { type Block, perBlock } from './split'

/**
 * Reference contains the parts of other blocks that a block needs. They are strings, so that a block is rendered again
 * only if they change.
 */
export interface Reference {
  /** The definitions of the block's links, as Markdown. */
  readonly definitions: string
  /** The footnotes of the text in order, one line each; empty for a block without footnotes. */
  readonly notes: string
}

interface Mentions {
  readonly definitions: readonly (readonly [label: string, line: string])[]
  readonly labels: readonly string[]
  readonly notes: readonly string[]
  readonly uses: readonly string[]
}

const definition = /^ {0,3}\[(?!\^)([^[\]\n]{1,100})\]:[ \t]*\S[^\n]*$/gm
const label = /\[(?!\^)([^[\]\n]{1,100})\]/g
const note = /^ {0,3}\[\^([^[\]\s]{1,50})\]:/gm
const use = /\[\^([^[\]\s]{1,50})\](?!:)/g

const nothing: Mentions = { definitions: [], labels: [], notes: [], uses: [] }
const none: Reference = { definitions: '', notes: '' }

/** A number without an address is a citation at the beginning of a line. */
const cited = /^ {0,3}\[\d{1,3}\]:(?![ \t]*<?(?:https?:|mailto:))/i

/**
 * referencesOf returns the parts of other blocks that each block needs: definitions of links and footnotes may be
 * anywhere in a text.
 */
export function referencesOf(blocks: readonly Block[]): readonly Reference[] {
  const all = blocks.map(mentionsOf)
  const definitions = new Map<string, string>()
  const written = new Set<string>()
  for (const one of all) {
    // The first definition takes precedence, as in CommonMark.
    for (const [name, line] of one.definitions) if (!definitions.has(name)) definitions.set(name, line)
    for (const name of one.notes) written.add(name)
  }
  if (definitions.size === 0 && written.size === 0) return blocks.map(() => none)
  const order = [...new Set(all.flatMap(({ uses }) => uses))].filter((name) => written.has(name))
  const notes = order.join('\n')
  return all.map((one) => ({
    definitions: [...new Set(one.labels)].flatMap((name) => definitions.get(name) ?? []).join('\n'),
    notes: one.uses.length + one.notes.length > 0 ? notes : '',
  }))
}

const mentionsOf = perBlock((block): Mentions => {
  if (block.kind !== 'text' || !block.source.includes('[')) return nothing
  const found = (pattern: RegExp) => [...block.source.matchAll(pattern)]
  return {
    definitions: found(definition)
      .filter(([line]) => !cited.test(line))
      .map((match) => [normalized(match[1]), match[0].trim()] as const),
    labels: found(label).map((match) => normalized(match[1])),
    notes: found(note).map((match) => match[1] ?? ''),
    uses: found(use).map((match) => match[1] ?? ''),
  }
})

function normalized(name = ''): string {
  return name.trim().replace(/\s+/g, ' ').toLowerCase()
}
