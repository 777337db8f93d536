import { expect, it } from 'vitest'
import { linkParts } from './links'

it.each<[string, string[]]>([
  ['', []],
  ['休業します。', []],
  ['https://example.com/a?b=1#c', ['https://example.com/a?b=1#c']],
  ['詳しくはhttps://example.com/年末をご覧ください', ['https://example.com/']],
  ['（https://example.com/a）と http://b.example。', ['https://example.com/a', 'http://b.example']],
  ['(see https://example.com/a).', ['https://example.com/a']],
  ['https://ja.example/wiki/A_(b)', ['https://ja.example/wiki/A_(b)']],
  ['一行目\nhttps://example.com\n三行目', ['https://example.com']],
  ['javascript:alert(1) ftp://x https:// http://', []],
  ['<https://example.com>"https://example.org"', ['https://example.com', 'https://example.org']],
])('finds the URLs in %j', (text, links) => {
  const parts = linkParts(text)
  expect(parts.map((part) => part.text).join('')).toBe(text)
  expect(parts.filter((part) => part.link).map((part) => part.text)).toEqual(links)
})
