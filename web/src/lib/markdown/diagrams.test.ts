import { describe, expect, it } from 'vitest'
import { isInert } from './diagrams'

const svg = (inner: string) => `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9">${inner}</svg>`

describe('a rendered diagram', () => {
  it('is accepted if it is only a picture', () => {
    const style = '<style>.a{fill:#fff;marker-end:url(#m)}</style>'
    expect(
      isInert(
        svg(
          `${style}<g class="a"><path d="M0 0" marker-end="url(#m)"/><text>日本 &lt;img src="x" onload=1></text></g>`,
        ),
      ),
    ).toBe(true)
  })

  it.each([
    ['a script', '<script>alert(1)</script>'],
    ['a handler', '<g onload="alert(1)"/>'],
    ['a handler behind a bracket', '<g id=">" onload="alert(1)"/>'],
    ['a tag that does not end', '<g id="a'],
    ['an entity', '<!ENTITY a "b">'],
    ['an external picture', '<image href="https://evil.example/a.png"/>'],
    ['a link', '<a xmlns:xlink="http://www.w3.org/1999/xlink" xlink:href="javascript:alert(1)"/>'],
    ['an external style', '<style>@import "https://evil.example/a.css"</style>'],
    ['an external color', '<rect style="fill:url(https://evil.example/a)"/>'],
    ['a page', '<foreignObject><iframe xmlns="http://www.w3.org/1999/xhtml"/></foreignObject>'],
  ])('is refused with %s', (_, inner) => {
    expect(isInert(svg(inner))).toBe(false)
  })

  it('is refused if it is not a picture', () => {
    expect(isInert('<html xmlns="http://www.w3.org/1999/xhtml"/>')).toBe(false)
  })
})
