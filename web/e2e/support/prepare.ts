import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fakeIdp, fakeModel, fakeSlack, root, tsumugi } from './paths'

/** Runs once before all tests and builds the programs that they start. */
export default function prepare(): void {
  if (!existsSync(tsumugi)) throw new Error(`${tsumugi} is missing: run "npx -y rust-just build" first.`)
  for (const [binary, command] of [
    [fakeModel, './test/fakes/model'],
    [fakeIdp, './test/fakes/idp'],
    [fakeSlack, './test/fakes/slack/fakeslack'],
  ] as const)
    execFileSync('go', ['build', '-o', binary, command], { cwd: root, stdio: 'inherit' })
}
