import { describe, expect, it } from 'vitest'
import { toHtml } from './html'

describe('a text as HTML for other programs', () => {
  it.each([
    ['## 見出し', '<h2>見出し</h2>'],
    ['**「太字」**です', '<strong>「太字」</strong>です'],
    ['一行目\n二行目', '<p>一行目<br>二行目</p>'],
    ['3. 三\n4. 四', '<ol start="3">'],
    ['- [x] 済', '☑'],
    ['[規程](https://example.com/?a=1&b="2")', '<a href="https://example.com/?a=1&amp;b=%222%22">規程</a>'],
    ['値は$x^2$です', '<p>値はx^2です</p>'],
    ['\\[\n\\frac{a}{b}\n\\]', '<p>\\frac{a}{b}</p>'],
    ['$5から$10まで', '<p>$5から$10まで</p>'],
    ['```html\n<b>\n```', '&lt;b&gt;'],
  ])('%s', async (source, expected) => {
    expect(await toHtml(source)).toContain(expected)
  })

  it('has tables with borders and alignment, without formulas', async () => {
    const html = await toHtml('| 品番 | 数 |\n| --- | ---: |\n| =1+1 | 3 |')
    expect(html).toContain('<table border="1"')
    expect(html).toContain("<td>'=1+1</td>")
    expect(html).toContain('<td align="right">3</td>')
  })

  it('has no classes, no styles and no active content', async () => {
    const html = await toHtml(
      '<img src=x onerror=alert(1)>\n\n[x](javascript:alert(1)) ![絵](https://evil.example/p.png)\n\n```js\n1\n```',
    )
    expect(html).toContain('&lt;img src=x')
    expect(html).not.toMatch(/<img|<script|javascript:|class=|style=/)
  })
})
