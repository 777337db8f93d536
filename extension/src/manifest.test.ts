import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

/** The manifest of the build or, before the first one, its source, which the build copies. */
function manifest(): Record<string, unknown> {
  const [built, source] = ['../dist/manifest.json', '../public/manifest.json'].map((name) =>
    fileURLToPath(new URL(name, import.meta.url)),
  ) as [string, string]
  return JSON.parse(readFileSync(existsSync(built) ? built : source, 'utf8'))
}

it('requests no hosts: a page is readable only after the user uses the extension on it', () => {
  const { permissions, ...rest } = manifest()
  expect(permissions).toEqual(['activeTab', 'scripting', 'sidePanel', 'storage', 'contextMenus', 'identity'])
  const asked = Object.keys(rest).filter((key) => /permissions|content_scripts/.test(key))
  expect(asked).toEqual([])
})
