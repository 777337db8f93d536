import { expect, test } from 'vitest'
import { forcelistValue, linuxPolicy, macProfile } from './policies'

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
