import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from './build'
import type { Model } from './model'
import { Tsumugi } from './tsumugi'

/** Builds a server whose tools all need an approval, and returns its path. */
export function buildAsking(): string {
  const binary = join(mkdtempSync(join(tmpdir(), 'tsumugi-asking-')), 'tsumugi')
  build(binary, './cmd/tsumugi', 'asktools')
  return binary
}

/** Starts such a server. */
export function startAsking(model: Model): Promise<Tsumugi> {
  return Tsumugi.start(model, {}, buildAsking())
}
