import { build } from './build'
import type { Model } from './model'
import { asksForTools } from './paths'
import { Tsumugi } from './tsumugi'

/** Builds a server whose tools all need an approval, unless an earlier test has, and returns its path. */
export function buildAsking(): string {
  build(asksForTools, './cmd/tsumugi', 'asktools')
  return asksForTools
}

/** Starts such a server. */
export function startAsking(model: Model): Promise<Tsumugi> {
  return Tsumugi.start(model, {}, buildAsking())
}
