import { describe, expect, it } from 'vitest'
import { flatten, TooSlow } from './flatten'
import { toMarkdown } from './markdown'
import { readDocument } from './read'
import { isVideo, readTranscript } from './transcript'

function page(html: string, url = 'https://example.jp/'): Document {
  const parsed = new DOMParser().parseFromString(html, 'text/html')
  Object.defineProperty(parsed, 'URL', { value: url })
  return parsed
}

describe('toMarkdown', () => {
  it('keeps headings, lists and tables, and the text of links and pictures', () => {
    const { body } = page(
      '<h2>手当</h2><ul><li>月額<a href="/x">3,000円</a></li></ul><img alt="組織図"><img>' +
        '<table><tr><th>区分</th><th>日数</th></tr><tr><td>正社員</td><td>15|16</td></tr></table>',
    )
    expect(toMarkdown(body)).toBe(
      '## 手当\n\n-   月額3,000円\n\n（画像：組織図）\n\n| 区分 | 日数 |\n| --- | --- |\n| 正社員 | 15\\|16 |',
    )
  })

  it('separates any number of paragraphs in groups', () => {
    const paragraphs = Array.from({ length: 120 }, (_, i) => `第${i + 1}条`)
    const { body } = page(
      `前<div><b>太字</b>の文<section>${paragraphs.map((text) => `<p>${text}</p>`).join('')}</section></div>後`,
    )
    expect(toMarkdown(body)).toBe(['前', '**太字**の文', ...paragraphs, '後'].join('\n\n'))
  })
})

describe('flatten', () => {
  it('omits hidden elements and non-text, and does not change the page', () => {
    const source = page(
      '<p>残る</p><p hidden>隠れる</p><script>alert(1)</script><div aria-hidden="true">飾り</div>',
    )
    const before = source.body.innerHTML
    expect(flatten(source, Number.POSITIVE_INFINITY).document.body.textContent?.trim()).toBe('残る')
    expect(source.body.innerHTML).toBe(before)
  })

  it('gives up on a page that takes too long', () => {
    const source = page('<p>字</p>'.repeat(400))
    expect(() => flatten(source, 0, () => 1)).toThrow(TooSlow)
  })
})

describe('readDocument', () => {
  const sentence = '在宅勤務を希望する社員は、前月の20日までに申請書を上長に提出してください。'
  const article = `<article><h1>題</h1>${`<p>${sentence.repeat(3)}</p>`.repeat(60)}</article>`
  const comments = Array.from(
    { length: 200 },
    (_, i) => `<div class="comment"><p>${i}番目の感想です。</p></div>`,
  ).join('')

  it('keeps the comments below an article, and counts the rest', async () => {
    const rest = '関連記事の紹介です。'
    const found = await readDocument(
      page(
        `<title>題</title><main>${article}<p class="related">${rest}</p><div id="comments">${comments}</div></main>`,
      ),
    )
    if (found.kind !== 'page') throw new Error(found.kind)
    for (let i = 0; i < 200; i++) expect(found.text.split(`\n${i}番目の感想です。`)).toHaveLength(2)
    expect(found.text).not.toContain(rest)
    expect(found.omitted).toBe(rest.length)
    expect(found.whole).toContain(rest)
  })

  it.each([
    ['a list', '<ol class="comments"><li>{}</li><li>二</li></ol>'],
    [
      'items without a list of their own',
      '<div><div class="CommentItem_a">{}</div><div class="CommentItem_a">二</div></div>',
    ],
    ['custom elements', '<app-comment>{}</app-comment><app-comment>二</app-comment>'],
    ['markup of schema.org', '<div itemtype="https://schema.org/Comment">{}</div>'],
    ['a role', '<article role="comment">{}</article>'],
    ['answers', '<div id="answers"><div>{}</div></div>'],
    [
      'a list in which the longest comment is half of the page',
      `<ul class="replies"><li>{}</li><li>${sentence.repeat(150)}</li></ul>`,
    ],
  ])('keeps comments in %s', async (_, html) => {
    const found = await readDocument(
      page(`<title>題</title>${article}${html.replace('{}', '一つ目の感想です。')}`),
    )
    expect(found).toMatchObject({ kind: 'page', whole: '', omitted: 0 })
    expect((found as { text: string }).text).toMatch(/^[^コ]*## コメント\n\n[^コ]*一つ目の感想です。/)
  })

  it.each([
    ['highlighted code', '<pre><code><span class="comment">// 説明</span></code></pre>'],
    ['a section of an article', '<section class="answer"><p>休暇は20日です。</p></section>'],
    ['a page called after its comments', ''],
  ])('does not treat %s as comments', async (_, html) => {
    const inside = article.replace('<p>', `${html}<p>`)
    const found = await readDocument(page(`<title>題</title><div class="with-comments">${inside}</div>`))
    expect((found as { text: string }).text).not.toContain('## コメント')
  })

  it('counts nothing on a normal article', async () => {
    const found = await readDocument(
      page(
        `<title>題</title><nav>ホーム</nav><main>${article}</main><div class="adsbygoogle">広告です。</div><footer>例示</footer>`,
      ),
    )
    expect(found).toMatchObject({ kind: 'page', whole: '', omitted: 0 })
  })
})

describe('readTranscript', () => {
  const url = 'https://www.youtube.com/watch?v=abc'
  const tracks = JSON.stringify([
    { baseUrl: '/api/timedtext?lang=en', languageCode: 'en' },
    { baseUrl: '/api/timedtext?lang=ja', languageCode: 'ja', kind: 'asr' },
  ])
  const html =
    '<title>説明会 - YouTube</title><script>var ytInitialPlayerResponse = ' +
    `{"videoId":"abc","captionTracks":${tracks}}</script>`
  const get = (async (address: string) => {
    expect(address).toContain('lang=ja')
    return Response.json({ events: [{ tStartMs: 65_000, segs: [{ utf8: '始め' }, { utf8: 'ます' }] }, {}] })
  }) as typeof fetch

  it('reads the player’s track, preferring Japanese', async () => {
    expect(isVideo(url)).toBe(true)
    expect(await readTranscript(page(html, url), get)).toEqual({
      text: '# 説明会\n\n（動画の文字起こし）\n\n1:05 始めます',
    })
  })

  it('reads a short one, and prefers the displayed list', async () => {
    expect(await readTranscript(page(html, 'https://www.youtube.com/shorts/abc'), get)).toHaveProperty('text')
    const segment =
      '<ytd-transcript-segment-renderer><div class="segment-timestamp"> 0:03 </div>' +
      '<yt-formatted-string class="segment-text">ようこそ</yt-formatted-string></ytd-transcript-segment-renderer>'
    expect(await readTranscript(page(html + segment, url), () => Promise.reject(new Error('asked')))).toEqual(
      {
        text: '# 説明会\n\n（動画の文字起こし）\n\n0:03 ようこそ',
      },
    )
  })

  it('reports that none exists, or that the site refuses it', async () => {
    const silent = html.replace(`"captionTracks":${tracks}`, '"captions":{}')
    expect(await readTranscript(page(silent, url), get)).toBe('none')
    expect(await readTranscript(page(html, url), async () => new Response('', { status: 403 }))).toBe(
      'refused',
    )
    expect(await readTranscript(page(html, url), async () => Response.json({ events: [] }))).toBe('none')
    const another = 'https://www.youtube.com/watch?v=xyz'
    expect(await readTranscript(page(html, another), get)).toBe('refused')
    const elsewhere = html.replaceAll('/api/timedtext', 'https://example.com/api')
    expect(await readTranscript(page(elsewhere, url), get)).toBe('refused')
  })
})
