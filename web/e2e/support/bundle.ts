import { build, type Rolldown } from 'vite'
import { root } from './paths'

const aiSdk = `${root}clients/ai-sdk`

/** One script with a page of clients/ai-sdk/test and the built package. */
export async function bundle(page: string): Promise<string> {
  const { output } = (await build({
    root: aiSdk,
    configFile: false,
    logLevel: 'error',
    resolve: { alias: { '../src/index.js': '@tsumugi/ai-sdk' } },
    build: { write: false, rolldownOptions: { input: `${aiSdk}/test/${page}` } },
  })) as Rolldown.RolldownOutput
  const chunk = output.find((file) => file.type === 'chunk' && file.isEntry)
  if (chunk?.type !== 'chunk') throw new Error(`${page} has no script`)
  return chunk.code
}
