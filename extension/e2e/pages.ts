const article = `<!doctype html><html lang="ja"><head><meta charset="utf-8"><title>就業規則改定のお知らせ</title></head><body>
<nav><a href="/">ホーム</a> <a href="/news">ニュース一覧</a></nav>
<main><article><h1>就業規則改定のお知らせ</h1>
<p>2027年4月1日から、在宅勤務の対象を全社員に広げます。これまでは本社の管理部門だけが対象でした。</p>
<p>在宅勤務を希望する社員は、前月の20日までに申請書を上長に提出してください。申請は一か月単位で受け付けます。</p>
<h2>手当</h2><p>在宅勤務を月に10日以上行った社員には、通信費として月額3,000円を支給します。支給は翌月の給与で行います。</p>
<table><tr><th>区分</th><th>上限日数</th></tr><tr><td>正社員</td><td>15日</td></tr><tr><td>契約社員</td><td>10日</td></tr></table>
<p hidden>この段落は表示されません。</p>
<div id="host"></div>
</article></main>
<footer>© 例示株式会社</footer>
<iframe src="about:blank" width="300" height="150"></iframe>
<script>
  const root = document.getElementById('host').attachShadow({ mode: 'closed' })
  root.innerHTML = '<p>お問い合わせは人事部（内線1234）までお願いします。</p>'
</script></body></html>`

/** 900 paragraphs with 540,000 characters: 500 short ones for selections, and 400 long ones. */
const list = Array.from(
  { length: 900 },
  (_, i) =>
    `<p>第${i + 1}条　この条文は長いページを確かめるための文章であり、${'同じ内容を繰り返します。'.repeat(i < 500 ? 8 : 98)}</p>`,
).join('\n')

/** The number of comments below the article of /discussion. */
export const comments = 200

/** The characters of /discussion outside its article and comments. */
export const related = '関連記事：来年度の休暇制度について担当者に聞きました。'

/** An article with comments, a frame of the same site, a frame of another site, and advertisements. */
const discussion = `<!doctype html><html lang="ja"><head><meta charset="utf-8"><title>在宅勤務をどう思いますか</title></head><body>
<nav><a href="/">ホーム</a> <a href="/news">ニュース一覧</a></nav>
<main><article><h1>在宅勤務をどう思いますか</h1>
${Array.from({ length: 8 }, (_, i) => `<p>論点${i + 1}。在宅勤務の対象を広げることには、通勤の負担が減るという長所と、相談がしにくいという短所があります。</p>`).join('\n')}
</article>
<div class="ad-container">広告：格安の机を販売しています。<iframe src="/advertisement" width="300" height="250"></iframe></div>
<ins class="adsbygoogle"><iframe id="aswift_1" src="/advertisement" width="300" height="250"></iframe></ins>
<div class="related"><p>${related}</p></div>
<section id="comments"><h2>コメント（${comments}件）</h2><ol class="comment-list">
${Array.from(
  { length: comments },
  (_, i) =>
    `<li class="comment" id="comment-${i + 1}"><b>社員${i + 1}</b><p>${i + 1}番目の感想です。</p></li>`,
).join('\n')}
</ol></section></main>
<iframe src="/minutes" title="議事録" width="400" height="300"></iframe>
<iframe id="other-site" width="400" height="300"></iframe>
<script>
  const other = location.origin.replace('127.0.0.1', 'localhost')
  document.getElementById('other-site').src = other + '/advertisement'
</script>
</body></html>`

const minutes = `<!doctype html><html lang="ja"><head><meta charset="utf-8"><title>4月の議事録</title></head><body>
<p>労使協議会は、在宅勤務の上限を月15日とすることで合意しました。</p></body></html>`

/** The pages of the tests' own site, by path. */
export const pages: Readonly<Record<string, { readonly type?: string; readonly body: string | Buffer }>> = {
  '/notice': { body: article },
  '/other': { body: article.replaceAll('就業規則改定のお知らせ', '別のお知らせ') },
  '/discussion': { body: discussion },
  '/minutes': { body: minutes },
  '/advertisement': {
    body: '<!doctype html><meta charset="utf-8"><p>広告の枠：格安の椅子を販売しています。</p>',
  },
  '/long': {
    body: `<!doctype html><title>長い約款</title><main><article><h1>長い約款</h1>${list}</article></main>`,
  },
  '/empty': { body: '<!doctype html><title>空のページ</title><canvas width="300" height="300"></canvas>' },
}
