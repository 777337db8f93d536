import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Model } from './model'
import { together } from './programs'
import { test as base } from './test'
import { Tsumugi } from './tsumugi'

/** Starts a server with the models of two providers. */
async function startWithProviders(model: Model) {
  const second = await Model.start()
  const folder = await mkdtemp(join(tmpdir(), 'tsumugi-models-'))
  const file = join(folder, 'models.yaml')
  await writeFile(
    file,
    `default: standard
providers:
  - name: 社内
    base_url: ${model.baseURL}
    models:
      - { id: standard, model: tsumugi-test, name: 標準 }
  - name: 外部
    base_url: ${second.baseURL}
    models:
      - id: strong
        model: tsumugi-test
        name: big-model
        sees: true
        thinking: switch
        thinking_on: { reasoning_effort: high }
        thinking_off: { reasoning_effort: minimal }
`,
  )
  const server = await Tsumugi.start(null, { TSUMUGI_MODELS: file })
  return together({ second, settings: { stop: () => rm(folder, { recursive: true }) }, server })
}

interface Fixtures {
  readonly started: Awaited<ReturnType<typeof startWithProviders>>
  /** The second provider; the first one is `model`. */
  readonly second: Model
}

/** Tests on a server with the models of two providers. */
export const test = base.extend<Fixtures>({
  started: [
    async ({ programs, model }, use) => use(await programs.get('providers', () => startWithProviders(model))),
    { timeout: 300_000 },
  ],
  second: ({ started }, use) => use(started.second),
  server: ({ started }, use) => use(started.server),
})
