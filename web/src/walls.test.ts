import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = import.meta.dirname

/** walls are the forbidden imports between folders, with their reasons. */
const walls: Array<{ from: RegExp; never: RegExp; why: string }> = [
  {
    from: /^lib\//,
    never: /^(app|features|components|entities)\//,
    why: 'lib knows no screen and nothing of the product; the app hands the session in',
  },
  { from: /^entities\//, never: /^(app|features|components)\//, why: 'entities know no screen' },
  { from: /^components\//, never: /^(app|features)\//, why: 'components serve every feature' },
  {
    from: /^features\//,
    never: /^app\//,
    why: 'the app puts the features together, not the other way round',
  },
]

/**
 * below lists the entities that an entity may import. Shared code belongs into lib, so that each entity can be
 * understood alone.
 */
const below: Record<string, string[]> = {
  session: ['identity'], // The identity provider renews the tokens of a session.
}

function files(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name) && !/\.test\.tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
}

/** imports returns the imported paths of a file, as written but relative to the root. */
function imports(file: string): string[] {
  const text = readFileSync(join(root, file), 'utf8')
  const specifiers = [...text.matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map((match) => match[1] ?? '')
  return specifiers.flatMap((specifier) => {
    if (specifier.startsWith('@/')) return specifier.slice(2)
    return specifier.startsWith('.') ? relative(root, join(root, file, '..', specifier)) : []
  })
}

describe('the walls between the folders', () => {
  const all = files(root)

  it.each(walls)('hold: $why', ({ from, never }) => {
    const broken = all
      .filter((file) => from.test(file))
      .flatMap((file) =>
        imports(file)
          .filter((target) => never.test(target))
          .map((target) => `${file} → ${target}`),
      )
    expect(broken).toEqual([])
  })

  it('hold: entities import each other in one order', () => {
    const entity = (path: string) => /^entities\/([^/]+)/.exec(path)?.[1]
    const broken = all.flatMap((file) => {
      const from = entity(file)
      if (from === undefined) return []
      return imports(file)
        .filter((target) => entity(target) !== undefined && entity(target) !== from)
        .filter((target) => !below[from]?.includes(entity(target) ?? ''))
        .map((target) => `${file} → ${target}`)
    })
    expect(broken).toEqual([])
  })

  it('hold: Checkbox draws every check box', () => {
    const drawing = all.filter((file) => readFileSync(join(root, file), 'utf8').includes('type="checkbox"'))
    expect(drawing).toEqual(['lib/ui/Checkbox.tsx'])
  })

  it('hold: lib and entities contain folders only', () => {
    expect(all.filter((file) => /^(lib|entities)\/[^/]+$/.test(file))).toEqual([])
  })

  it('hold: features never import each other', () => {
    const feature = (path: string) => /^features\/([^/]+)/.exec(path)?.[1]
    const broken = all.flatMap((file) =>
      imports(file)
        .filter((target) => feature(file) && feature(target) && feature(file) !== feature(target))
        .map((target) => `${file} → ${target}`),
    )
    expect(broken).toEqual([])
  })

  it('see the files', () => {
    expect(all.length).toBeGreaterThan(50)
  })
})

/** cycles returns a cycle for each import, even of a type or in a function, that closes one. */
function cycles(graph: ReadonlyMap<string, readonly string[]>): string[] {
  const found: string[] = []
  const done = new Set<string>()
  const visit = (node: string, path: readonly string[]) => {
    const start = path.indexOf(node)
    if (start >= 0) found.push([...path.slice(start), node].join(' → '))
    if (start >= 0 || done.has(node)) return
    for (const next of graph.get(node) ?? []) visit(next, [...path, node])
    done.add(node)
  }
  for (const node of graph.keys()) visit(node, [])
  return found
}

describe('the imports', () => {
  const all = files(root)
  const known = new Set(all)
  const resolve = (path: string) =>
    ['', '.ts', '.tsx', '/index.ts', '/index.tsx']
      .map((ending) => path + ending)
      .find((file) => known.has(file))
  const graph = new Map(all.map((file) => [file, imports(file).flatMap((path) => resolve(path) ?? [])]))

  it('have no cycles', () => {
    expect(cycles(graph)).toEqual([])
  })

  it('have no cycles between the folders of the chat', () => {
    const folder = (file: string) => /^features\/chat\/([^/]+)\//.exec(file)?.[1]
    const folders = new Map<string, Set<string>>()
    for (const [file, targets] of graph) {
      const from = folder(file)
      if (from === undefined) continue
      const to = targets.flatMap((target) => folder(target) ?? []).filter((other) => other !== from)
      folders.set(from, new Set([...(folders.get(from) ?? []), ...to]))
    }
    expect(folders.size).toBeGreaterThan(5)
    expect(cycles(new Map([...folders].map(([from, to]) => [from, [...to]])))).toEqual([])
  })

  it('are found in every form', () => {
    const targets = graph.get('features/chat/loader.ts')
    expect(targets).toContain('lib/api/index.ts')
    expect(targets).toContain('features/chat/conversations.ts')
    expect(graph.get('features/chat/proofread/proofreadPart.ts')).toContain(
      'features/chat/proofread/ProofreadView.tsx',
    )
    expect(
      cycles(
        new Map([
          ['a', ['b']],
          ['b', ['c', 'd']],
          ['c', ['b']],
          ['d', ['d']],
        ]),
      ),
    ).toEqual(['b → c → b', 'd → d'])
  })
})
