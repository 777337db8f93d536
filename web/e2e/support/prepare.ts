import { existsSync } from 'node:fs'
import { build } from './build'
import { fakeIdp, fakeModel, fakeSlack, tsumugi } from './paths'
import { Tsumugi } from './tsumugi'

/** Runs once before all tests, builds the programs that they start, and creates the data that their servers copy. */
export default async function prepare(): Promise<void> {
  if (!existsSync(tsumugi)) throw new Error(`${tsumugi} is missing: run "npx -y rust-just build" first.`)
  build(fakeModel, './test/fakes/model')
  build(fakeIdp, './test/fakes/idp')
  build(fakeSlack, './test/fakes/slack/fakeslack')
  await Tsumugi.createSeed()
}
