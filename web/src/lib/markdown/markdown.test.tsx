import { act, cleanup, render, screen } from '@testing-library/react'
import { renderToStaticMarkup } from 'react-dom/server'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { LazyPart } from '@/lib/ui/lazyPart'
import { Markdown, preloadMarkdown } from './Markdown'
import { Rendered } from './Rendered'

beforeAll(async () => {
  await Promise.all([preloadMarkdown(), import('./math'), import('./highlight')])
  // The large parts are loaded on demand. Load them so that every test sees the final result.
  render(<Rendered text={'$x$\n\n```ts\n1\n```'} />)
  await vi.waitFor(
    () => {
      expect(document.querySelector('.katex')).not.toBeNull()
      expect(document.querySelector('.hljs-number')).not.toBeNull()
    },
    { timeout: 30_000 },
  )
  cleanup()
}, 60_000)

function html(text: string, growing = false): string {
  const { container, unmount } = render(<Rendered text={text} growing={growing} />)
  const { innerHTML } = container
  unmount()
  return innerHTML.replaceAll('<br/>', '<br>')
}

/** visible returns the visible text, with a placeholder for each formula. */
function visible(text: string, growing = false): string {
  const root = document.createElement('div')
  root.innerHTML = html(text, growing)
  for (const math of root.querySelectorAll('.katex')) math.replaceWith('∑')
  for (const button of root.querySelectorAll('button')) button.remove()
  for (const head of root.querySelectorAll('pre[aria-label]')) head.previousElementSibling?.remove()
  return (root.textContent ?? '').replace(/\s+/g, ' ').trim()
}

describe('Japanese', () => {
  it.each([
    ['**「重要」**です', '<strong>「重要」</strong>です'],
    ['これは**重要（とても）**なので', 'これは<strong>重要（とても）</strong>なので'],
    ['~~「旧」~~は', '<del>「旧」</del>は'],
    ['*「斜体」*も', '<em>「斜体」</em>も'],
    ['10~20個、30~40個', '10~20個、30~40個'],
    ['snake_case_の_名前', 'snake_case_の_名前'],
    ['https://example.com/a、次', 'https://example.com/a'],
  ])('%s', (source, expected) => {
    expect(html(source)).toContain(expected)
  })
})

describe('blocks', () => {
  it('renders tables, lists, tasks and headings', () => {
    expect(html('| a | b |\n|---|--:|\n| 1<br>2 | x |')).toMatch(/<table>.*<td>1<br>2<\/td>/s)
    expect(html('- [x] 済\n- [ ] 未')).toMatch(
      /<input[^>]*aria-label="完了"[^>]*checked.*<input[^>]*aria-label="未完了"/s,
    )
    expect(html('# 題\n\n## 節')).toMatch(/<h3[^>]*>題<\/h3>.*<h4[^>]*>節<\/h4>/s)
    const levels = (text: string) => [...html(text).matchAll(/<h(\d)/g)].map((match) => Number(match[1]))
    expect(levels('## 節\n\n本文\n\n#### 項\n\n## 節')).toEqual([3, 4, 3])
    expect(levels('### 項\n\n本文\n\n題\n===\n\n---\n\n## 節')).toEqual([3, 3, 4])
  })

  it('keeps line breaks', () => {
    expect(html('拝啓\n時下ますます\n\n- 一\n  二\n\n> 三\n> 四')).toMatch(
      /拝啓<br>時下.*一<br>二.*三<br>四/s,
    )
    expect(html('行末  \n次')).toMatch(/行末<br>\s*次/)
    expect(html('`a\nb`')).not.toContain('<br>')
  })

  it('keeps the numbers of a list that is interrupted by code', () => {
    expect(html('1. a\n\n```\nx\n```\n\n2. b')).toContain('<ol start="2">')
  })

  it('resolves links and footnotes defined in other blocks', () => {
    const text =
      '[規程][r]と[r]、本文[^b]と[^a]。\n\n次の段落[^b]。\n\n[R]: https://example.com/r\n\n[^a]: 甲\n[^b]: 乙'
    const out = html(text)
    expect(out.match(/href="https:\/\/example.com\/r"/g)).toHaveLength(2)
    expect(out).toMatch(/本文<button[^>]*aria-label="脚注1"[^>]*>1<.*aria-label="脚注2"/s)
    // Each ends with the link back to the text.
    expect(out).toMatch(/data-note="2"[^>]*>2<\/span>甲<button[^>]*脚注2[^>]*>↩<\/button><br>/)
    expect(out).toMatch(/<br>.*data-note="1"[^>]*>1<\/span>乙<button[^>]*脚注1[^>]*>↩<\/button><\/p>/s)
    expect(visible('本文[^1]です。')).toBe('本文[^1]です。')
    expect(html('[x][r]\n\n[r]: javascript:alert(1)')).not.toContain('href')
  })

  it('creates elements for a few tags only', () => {
    expect(html('H<sub>2</sub>O <u>下線</u> <kbd>Ctrl</kbd> <ruby>紡<rt>つむぎ</rt></ruby>')).toContain(
      'H<sub>2</sub>O <u>下線</u> <kbd>Ctrl</kbd> <ruby>紡<rt>つむぎ</rt></ruby>',
    )
    for (const text of [
      '<u onclick="x">a</u>',
      'a <sub>b',
      'a </sub> b',
      '<b>a</b>',
      '<u open>a</u>',
      'a <details>b</details>',
    ])
      expect(visible(text)).toBe(text)
    expect(html('x'.concat('<u>'.repeat(200), '</u>'.repeat(200))).match(/<u>/g)?.length).toBeLessThan(20)
  })

  it('folds details over several blocks, also while they grow', () => {
    const text = '<details open>\n<summary>題</summary>\n\n- **中**\n\n```ts\n1\n```\n\n</details>\n\n後'
    expect(html(text)).toMatch(/<details open=""><summary>題<\/summary>.*<strong>中.*<\/details>.*<p>後/s)
    expect(html(text.slice(0, 45), true)).toMatch(/<details open="">.*<strong>/s)
    expect(visible('<details>\n\n開いたまま')).toContain('<details>')
  })

  it('names alerts', () => {
    expect(html('> [!WARNING]\n> 本文')).toMatch(
      /<blockquote data-alert="warning">.*<strong>警告<\/strong>.*<p>本文<\/p>/s,
    )
    expect(html('> [!OTHER]\n> 本文')).not.toContain('data-alert')
  })

  it('repairs a truncated text like a growing one', () => {
    const { container } = render(<Rendered text="これは**太" cut />)
    expect(container.querySelector('strong')?.textContent).toBe('太')
  })
})

describe('code', () => {
  it('names the language, highlights known ones and leaves others plain', () => {
    expect(html('```ts\nconst a = 1\n```')).toMatch(/TypeScript.*<span class="hljs-keyword">const<\/span>/s)
    expect(html('```klingon\nqo <b>\n```')).toMatch(/klingon.*qo &lt;b&gt;/s)
    expect(html('- a\n\n  ```py\n  x = 1\n  ```')).toMatch(/Python.*hljs-number/s)
  })

  it('copies the code itself', async () => {
    const writeText = vi.fn(() => Promise.resolve())
    vi.stubGlobal('navigator', { clipboard: { writeText } })
    render(<Rendered text={'```sh\necho "a"\n\nls\n```\n'} />)
    await act(async () => screen.getByRole('button', { name: 'コピー' }).click())
    expect(writeText).toHaveBeenCalledWith('echo "a"\n\nls')
    expect(screen.getByText('コピーしました')).toBeTruthy()
    vi.unstubAllGlobals()
  })
})

describe('mathematics', () => {
  it.each(['$E=mc^2$', '値は\\(x^2\\)です', '$$\nx\n$$', '$$x$$', '\\[\nx\n\\]', '- 項目\n\n  \\[ x \\]'])(
    '%s',
    (source) => {
      expect(html(source)).toContain('class="katex"')
    },
  )

  it.each([
    '$5から$10まで',
    '価格は$5、$を使う',
    '費用: $100 と $200',
    '$',
    '$$',
    '`$x$`',
    '\\$x\\$',
    '```\n$x$\n```',
  ])('is text: %s', (source) => {
    expect(html(source)).not.toContain('katex')
  })

  it('shows an invalid formula as text', () => {
    expect(html('$\\frac{1$ と')).toContain('\\frac{1')
  })

  it('has no links in formulas, and limits their size', () => {
    const out = html(
      '$\\href{javascript:alert(1)}{x}$ $\\includegraphics{https://evil.example/a.png}$ $\\rule{9999em}{9999em}$',
    )
    expect(out).not.toContain(' href=')
    expect(out).not.toContain('<img')
    expect(out).not.toMatch(/style="[^"]*9999em/)
    expect(html('$\\def\\a{\\a\\a}\\a$')).toMatch(/<code title="[^"]*Too many expansions/)
  })
})

describe('R68: adversarial Markdown', () => {
  it.each([
    '<script>alert(1)</script>',
    '<img src=x onerror=alert(1)>',
    '<svg><script>alert(1)</script></svg>',
    '<iframe src="https://evil.example"></iframe>',
    'a <b onclick="alert(1)">b</b>',
    '<style>*{display:none}</style>',
    '<a href="javascript:alert(1)">x</a>',
    '<form action=https://evil.example><button>送信</button></form>',
    '<br onload=alert(1)>',
  ])('shows HTML as text: %s', (source) => {
    for (const growing of [false, true]) {
      const root = document.createElement('div')
      root.innerHTML = html(`${source}\n\nx`, growing)
      expect(
        root.querySelector('script, img, svg script, iframe, style, form, b, [onclick], [onerror], [onload]'),
      ).toBeNull()
      expect(root.querySelector('a[href^="javascript"]')).toBeNull()
    }
    expect(visible(source)).toContain(source.slice(0, 4))
  })

  it.each([
    '[x](javascript:alert(1))',
    '[x](JaVaScRiPt:alert(1))',
    '[x](&#106;avascript:alert(1))',
    '[x](java\\script:alert(1))',
    '[x](data:text/html,<script>alert(1)</script>)',
    '[x](vbscript:x)',
    '[x](//evil.example)',
    '[x](/v1/signout)',
    '[x](\u0001javascript:alert(1))',
    '<javascript:alert(1)>',
    '[x][1]\n\n[1]: javascript:alert(1)',
  ])('creates links without a target: %s', (source) => {
    expect(html(source)).not.toContain('href=')
  })

  it('opens links in a new tab without a referrer', () => {
    expect(html('[社内](https://example.com/a?b=1&c=2)')).toContain(
      '<a href="https://example.com/a?b=1&amp;c=2" target="_blank" rel="noopener noreferrer">社内</a>',
    )
    expect(html('<https://example.com> www.example.com a@example.com')).toMatch(/mailto:a@example\.com/)
  })

  it('loads no pictures', () => {
    const out = html(
      '![図](https://evil.example/p.png?q=secret) ![](data:image/svg+xml,x) ![y](javascript:1)',
    )
    expect(out).not.toContain('<img')
    expect(out).toContain('>図</a>')
    expect(out).not.toContain('data:image')
  })

  it.each([
    '*a ',
    '[',
    '![',
    '> ',
    '`',
    '$',
    '<',
    '**',
    '~~',
    '- ',
    '|',
    '\\(',
    '$$\n',
    '![](',
    '_a_',
    'a*',
    '[a](',
  ])('survives malicious input: %s', (piece) => {
    const stairs = Array.from({ length: 60 }, (_, i) => ' '.repeat(2 * i) + piece).join('\n')
    for (const text of [piece.repeat(1000), stairs]) {
      render(<Rendered text={text} growing />)
      render(<Rendered text={text} />)
      cleanup()
    }
  })
})

function Citation({ index }: { index: number }) {
  return <cite>{index}</cite>
}

describe('citations', () => {
  const cited = (text: string, growing = false) => {
    const { container } = render(<Rendered text={text} growing={growing} Citation={Citation} />)
    return [...container.querySelectorAll('cite')].map((cite) => cite.textContent).join()
  }

  it('are rendered in paragraphs, headings, lists and tables, and never in code, formulas or links', async () => {
    expect(cited('規定です[1][2]。')).toBe('1,2')
    expect(cited('## 休暇[1]\n\n- 10日[2]\n  - 繰越[3]\n\n| 年 | 日数 |\n| - | - |\n| 1 | 10[4] |')).toBe(
      '1,2,3,4',
    )
    expect(cited('**10日[1]**です。\n\n> 引用[2]')).toBe('1,2')
    expect(cited('`[1]` と [2](https://example.com) \n\n```\n[3]\n```\n\n    [4]')).toBe('')
  })

  it('are not links or definitions if words follow them', () => {
    expect(cited('10日です[1](第3条)。')).toBe('1')
    expect(cited('10日です[1]。\n\n[1]: 就業規則.pdf')).toBe('1,1')
    expect(cited('10日です[1]。\n\n[1]: https://example.com')).toBe('')
  })

  it('are text without a component', () => {
    render(<Rendered text="規定です[1]。" />)
    expect(screen.getByText('規定です[1]。')).toBeTruthy()
  })

  it('are withheld until complete while the text grows', () => {
    expect(cited('規定です[1', true)).toBe('')
    expect(cited('規定です[1][3', true)).toBe('1')
    expect(cited('規定です[1]。', true)).toBe('1')
  })
})

const answers = [
  'まず**「重要」**な点です。次に*強調*と`code`と~~取消~~、[公式サイト](https://example.com/path)を見ます[1]。\n\n続き',
  '# 見出し\n\n段落の文。\n次の行。\n\n- 一つ目の**項目**\n- 二つ目\n  - 入れ子の`値`\n\n1. 番号\n2. 次\n\n---\n\n終わり',
  '表です。\n\n| 列 | 値 |\n| --- | ---: |\n| **あ** | `1` |\n| い | 2 |\n\n後',
  '前の行\n| 列 | 値 |\n| --- | --- |\n| あ | 1 |\n\n後',
  'コードです。\n\n```ts\nconst a = `x`\nlet b = 2 ** 3\n```\n\n- 中\n\n  ```py\n  a = 1\n  ```\n- 次',
  '式は $E = mc^2$ と \\(a_1\\) です。\n\n$$\n\\sum x\n\n$$\n\n\\[ y \\]\n\n価格は $5 です。',
  '> 引用の**文**\n> 続き\n\n太字**の中の`コード`も**閉じる。***両方***と __下線__。\n\n<https://example.com/x> と a < b です。',
  '10日です[1](第3条)。[2](http://example.com/a)と[3](hoge)、[4][5]。\n\n[6]: 就業規則.pdf',
  '![図](https://example.com/a.png) と ![別](x)\n\n* 星の項目\n* **太い**: 説明\n\n2025\n年',
]

// Hundreds of renderings each: slow on a busy machine, but correct.
describe('while it grows', { timeout: 60_000 }, () => {
  it.each(answers)('never shows content that it later retracts: %s', (answer) => {
    const final = visible(answer)
    for (let length = 0; length <= answer.length; length++) {
      const prefix = answer.slice(0, length)
      const shown = visible(prefix, true)
      expect(final.startsWith(shown), `${JSON.stringify(prefix)} shows ${JSON.stringify(shown)}`).toBe(true)
    }
    expect(visible(answer, true)).toBe(final)
  })

  it('renders only the last block again', () => {
    const paragraphs = Array.from({ length: 40 }, (_, i) => `段落${i}の**文**です。${'あ'.repeat(40)}`)
    const answer = paragraphs.join('\n\n')
    const rendered: string[] = []
    const onBlock = (source: string) => rendered.push(source)
    const view = render(<Rendered text="" growing onBlock={onBlock} />)
    let commits = 0
    for (let length = 0; length < answer.length; length += 12) {
      view.rerender(<Rendered text={answer.slice(0, length)} growing onBlock={onBlock} />)
      commits++
    }
    view.rerender(<Rendered text={answer} growing={false} onBlock={onBlock} />)
    // One for each commit, and one more for each block when it is no longer the last.
    expect(rendered.length).toBeLessThanOrEqual(commits + 2 * paragraphs.length + 1)
    expect(rendered.filter((source) => source.startsWith('段落0の')).length).toBeLessThan(12)
  })

  it('shows plain text until the renderer is loaded, and retries after a failed load', async () => {
    let fail = true
    const part = new LazyPart(async () => {
      if (fail) throw new Error('offline')
      return 'there'
    })
    await expect(part.load()).rejects.toThrow('offline')
    fail = false
    await part.load()
    expect(part.value).toBe('there')
    expect(renderToStaticMarkup(<Markdown text="**a**" />)).toContain('<strong>a</strong>')
  })
})
