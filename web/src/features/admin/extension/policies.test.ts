import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { edgeRegistry, edgeSettings, forcelistValue, linuxPolicy, macProfile } from './policies'

const extension = {
  id: 'abcdefghijklmnopabcdefghijklmnop',
  version: '1.0.0.1',
  server_url: 'https://tsumugi.example.jp/?a=1&b=2',
  update_url: 'https://tsumugi.example.jp/extension/updates.xml?a=1&b=2',
}

test('a policy file names the extension and the server', () => {
  expect(JSON.parse(linuxPolicy(extension))).toEqual({
    ExtensionInstallForcelist: [`${extension.id};${extension.update_url}`],
    '3rdparty': { extensions: { [extension.id]: { server_url: extension.server_url } } },
  })
})

test('a profile is well-formed XML', () => {
  const found = new DOMParser().parseFromString(`<dict>${macProfile(extension)}</dict>`, 'text/xml')
  expect(found.querySelector('array string')?.textContent).toBe(forcelistValue(extension))
})

test('the policies of Edge contain the extension and its update URL at the documented keys', () => {
  const [, key, value] = /^\[(.+)\]\n"1"="(.+)"$/m.exec(edgeRegistry(extension)) ?? []
  expect(value).toBe(forcelistValue(extension))
  expect(JSON.parse(edgeSettings(extension))).toEqual({
    [extension.id]: {
      installation_mode: 'force_installed',
      update_url: extension.update_url,
      override_update_url: true,
    },
  })
  const guide = readFileSync('../docs/administration.md', 'utf8')
  expect(guide).toContain(`\`${key}\``)
  expect(guide).toContain('`edge://policy`')
})
