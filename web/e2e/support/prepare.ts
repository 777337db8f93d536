import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fakeModel, root, tsumugi } from './paths'

/** Runs once before all tests: what they start must be there. */
export default function prepare(): void {
  if (!existsSync(tsumugi)) throw new Error(`${tsumugi} is missing: run "npx -y rust-just build" first.`)
  execFileSync('go', ['build', '-o', fakeModel, './cmd/fakemodel'], { cwd: root, stdio: 'inherit' })
}
