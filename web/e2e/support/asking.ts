import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { build } from './build'
import type { Model } from './model'
import { Tsumugi } from './tsumugi'

/** Starts a server whose tools all need an approval. */
export function startAsking(model: Model): Promise<Tsumugi> {
  const binary = join(mkdtempSync(join(tmpdir(), 'tsumugi-asking-')), 'tsumugi')
  build(binary, './cmd/tsumugi', 'asktools')
  return Tsumugi.start(model, {}, binary)
}
