import { existsSync } from 'node:fs'
import { build } from './build'
import { fakeIdp, fakeModel, fakeSlack, tsumugi } from './paths'

/** Runs once before all tests and builds the programs that they start. */
export default function prepare(): void {
  if (!existsSync(tsumugi)) throw new Error(`${tsumugi} is missing: run "npx -y rust-just build" first.`)
  build(fakeModel, './test/fakes/model')
  build(fakeIdp, './test/fakes/idp')
  build(fakeSlack, './test/fakes/slack/fakeslack')
}
