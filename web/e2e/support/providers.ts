import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Model } from './model'
import { test as base } from './test'
import { Tsumugi } from './tsumugi'

/** A server with the models of two providers. */
export const test = base.extend<object, { second: Model; server: Tsumugi }>({
  second: [
    // biome-ignore lint/correctness/noEmptyPattern: Playwright reads the dependencies from this pattern.
    async ({}, use) => {
      const second = await Model.start()
      await use(second)
      await second.stop()
    },
    { scope: 'worker', timeout: 180_000 },
  ],
  server: [
    async ({ model, second }, use) => {
      const folder = await mkdtemp(join(tmpdir(), 'tsumugi-models-'))
      const file = join(folder, 'models.yaml')
      const settings = `default: standard
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
`
      await writeFile(file, settings)
      const server = await Tsumugi.start(null, { TSUMUGI_MODELS: file })
      await use(server)
      await server.stop()
      await rm(folder, { recursive: true })
    },
    { scope: 'worker', timeout: 180_000 },
  ],
})
