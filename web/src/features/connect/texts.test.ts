import { expect, it } from 'vitest'
import { texts } from './texts'

it('names the place to which a permission leads', () => {
  for (const host of ['127.0.0.1:49152', '[::1]:49152', 'localhost:33418', 'localhost'])
    expect(texts.leadsTo(host)).toContain('このコンピューター')
  expect(texts.leadsTo('abc.chromiumapp.org')).toContain('拡張機能')
  for (const host of [
    '127.0.0.1.evil.example',
    '127.evil.example',
    'localhost.evil.example',
    'app.example:8443',
  ])
    expect(texts.leadsTo(host)).toBe(`許可すると、${host} に移動します。`)
})
