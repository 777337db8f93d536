package extract_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

func TestHTML(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, content, want string }{
		{"title", "<title>勤務\n規程 &amp; 細則</title><p>本文", "# 勤務 規程 & 細則\n\n本文"},
		{"heading instead of title", "<title>題</title><h1>規程</h1><p>本文", "# 規程\n\n本文"},
		{
			"invisible parts",
			"<head><style>p{}</style><meta name=a></head><nav><a href=/>目次</a></nav><script>a<p>b</script>" +
				"<noscript><p>c</noscript><template><p>d</template><svg><title>e</title><text>f</text></svg>" +
				"<!-- g --><p>本文", "本文",
		},
		{"nothing but navigation", "<nav><p>目次</nav>", "目次"},
		{"picture that is not closed", "<svg><path><p>本文", "本文"},
		{"ruby", "<p><ruby>頗<rp>（</rp><rt>すこぶ</rt><rp>）</rp></ruby>る<ruby>漢<rt>かん<rb>字<rt>じ</ruby>", "頗る漢字"},
		{"formatting", "<p><b>太<i>字</b>と</i><font color=red>色</font><p>次", "太字と色\n\n次"},
		{
			"links",
			`<p><a href="https://example.com/a?b=1&amp;c=2">申請</a>と<a href="/b">社内</a>と<a href="javascript:x">印刷</a>`,
			"[申請](https://example.com/a?b=1&c=2)と社内と印刷",
		},
		{"link over blocks", `<a href="https://example.com/"><div>一</div><div>二</div></a>`, "一\n\n二"},
		{"image", `<p>図<img alt="組織&lt;図&gt;" src="data:,">`, "図組織<図>"},
		{"signs", "<p>a &lt; b &amp;&amp; c *d* _e_ [1] 1. x", "a < b && c *d* _e_ [1] 1. x"},
		{"tag out of pieces", "<p>a <<b>script>b</script>", "a <script>b"},
		{"lists", "<ul><li>一<ol><li>二<li>三</ol><li>四</ul>", "- 一\n  \n  1. 二\n  2. 三\n- 四"},
		{"definitions", "<dl><dt>有給<dd>年20日<dt>慶弔<dd>5日</dl>", "有給\n\n年20日\n\n慶弔\n\n5日"},
		{"preformatted", "<pre>a\n  b</pre>", "```\na\n  b\n```"},
		{
			"superscripts and subscripts",
			"<p>100m<sup>2</sup>、10<sup>&minus;<i>3</i></sup>、CO<sub>2</sub>は1,234<sup><a href=#n>1)</a></sup>、1<sup>st</sup>" +
				"<p>次<sup>2<p>段落2",
			"100m²、10⁻³、CO₂は1,234 ¹⁾、1st\n\n次²\n\n段落2",
		},
		{"control characters", "<title>&#6;題</title><p>本&#6;文&#13;", "# 題\n\n本文"},
		{"choices", "<select><option>東<option>西</select>", "東 西"},
	}
	for _, test := range tests {
		if got := pageOf(t, "a.html", []byte(test.content)); got != test.want {
			t.Errorf("%s: read as %q, want %q", test.name, got, test.want)
		}
	}
}

func TestHTMLTables(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, content, want string }{
		{
			"plain", "<table><tr><th>氏名<th>部署<tr><td>佐藤<td>営業<br>一課</table>",
			"| 氏名 | 部署 |\n|---|---|\n| 佐藤 | 営業 一課 |",
		},
		{
			"merged cells", "<table><tr><td rowspan=2>関東<td>東京<tr><td>千葉<tr><td colspan=2>全国</table>",
			"| 関東 | 東京 |\n|---|---|\n| 関東 | 千葉 |\n| 全国 | 全国 |",
		},
		{
			"headings of two rows", "<table><tr><th rowspan=2>部門<th colspan=2>上期<th colspan=2><b>下</b>期<br>計<th rowspan=2>備考" +
				"<tr><th>予算<th>実績<th>予算<th>実績<tr><td>営業<td>1<td>2<td>3<td>4<td>なし</table>",
			"| 部門 | 上期 予算 | 上期 実績 | 下期 計 予算 | 下期 計 実績 | 備考 |\n|---|---|---|---|---|---|\n| 営業 | 1 | 2 | 3 | 4 | なし |",
		},
		{
			"headings of two rows of different lengths", "<table><tr><th rowspan=2>部門<th colspan=2>上期<tr><th>予算<th>実績<th>備考" +
				"<tr><td>営業<td>1<td>2<td>なし</table>",
			"| 部門 | 上期 予算 | 上期 実績 | 備考 |\n|---|---|---|---|\n| 営業 | 1 | 2 | なし |",
		},
		{
			"several merged cells", "<table><tr><td>一<td>二<td>三<td>四<td>五<tr><td rowspan=2>六<td colspan=2>七<td colspan=2>八<tr>" +
				"<td>九<td>十<td>百<td>千</table>",
			"| 一 | 二 | 三 | 四 | 五 |\n|---|---|---|---|---|\n| 六 | 七 | 七 | 八 | 八 |\n| 六 | 九 | 十 | 百 | 千 |",
		},
		{
			"long", "<table><tr><th>品名<th>説明" + strings.Repeat("<tr><td>みかん<td>"+strings.Repeat("甘", 150), 4) + "</table>",
			strings.TrimSpace(strings.Repeat("| 品名 | 説明 |\n|---|---|\n"+strings.Repeat("| みかん | "+strings.Repeat("甘", 150)+
				" |\n", 2)+"\n", 2)),
		},
		{"more rows than there are", "<table><tr><td rowspan=9>一<td>二</table>", "| 一 | 二 |\n|---|---|"},
		{"layout", "<table><tr><td>左<td><table><tr><td>一<td>二</table></table>", "左\n\n| 一 | 二 |\n|---|---|"},
		{"list in a cell", "<table><tr><td>左<td>中<td><ul><li>右</ul></table>", "左\n\n中\n\n- 右"},
		{
			"too wide", "<table><tr>" + strings.Repeat("<td>一", 1001) + "</table>",
			strings.TrimSpace(strings.Repeat("一\n\n", 1001)),
		},
		{"no cells", "<table><caption>題</caption></table>", "題"},
	}
	for _, test := range tests {
		if got := pageOf(t, "a.html", []byte(test.content)); got != test.want {
			t.Errorf("%s: read as %q, want %q", test.name, got, test.want)
		}
	}
}

// TestHTMLBombs reads small pages that the parser would refuse, or that would become far longer, without limits.
func TestHTMLBombs(t *testing.T) {
	t.Parallel()
	address := "https://example.com/" + strings.Repeat("a", 200)
	for name, content := range map[string]string{
		"depth":           strings.Repeat("<div>", 50_000) + "底",
		"depth of lists":  strings.Repeat("<ul><li>", 20_000) + "底",
		"depth of tables": strings.Repeat("<table><tr><td>", 20_000) + "底",
		"quotations":      strings.Repeat("<blockquote>", 64) + strings.Repeat("底<br>", 20_000),
		"formatting":      strings.Repeat("<b a=1><i b=2><p>", 20_000) + "底",
		"spans":           "<table>" + strings.Repeat("<tr><td colspan=1000 rowspan=60000>底", 5000) + "</table>",
		"a wide row": "<table><tr>" + strings.Repeat("<td>底", 5000) + strings.Repeat("<tr><td>底",
			5000) + "</table>",
		"a repeated text": "<table>" + strings.Repeat("<tr><td colspan=9>"+strings.Repeat("底", 5000), 50) + "</table>",
		"small tables":    strings.Repeat("<table><tr><td colspan=50>"+strings.Repeat("底", 60)+"</table>", 500),
		"a repeated link": "<a href=" + address + ">" + strings.Repeat("<p>底", 20_000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := pageOf(t, "a.html", []byte(content)); !strings.Contains(got, "底") || len(got) > 4*len(content) {
				t.Errorf("%d bytes became %d", len(content), len(got))
			}
		})
	}
}

// TestTextsBetweenStrayTags verifies that the parser does not repeatedly copy texts that no element separates, which
// would allocate memory quadratic in the size of the page. The test measures allocations and therefore is not parallel.
func TestTextsBetweenStrayTags(t *testing.T) {
	for name, content := range map[string]string{
		"text in a table": "<table>" + strings.Repeat("底<tr>", 40_000),
		"stray ends":      strings.Repeat("底</td>", 40_000),
		"stray cells":     strings.Repeat("底<td>", 40_000),
		"a caption":       "<table><caption>" + strings.Repeat("底</td>", 40_000),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got := pageOf(t, "a.html", []byte(content))
		runtime.ReadMemStats(&after)
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 500 || strings.Count(got, "底") != 40_000 {
			t.Errorf("%s: %d MiB allocated for %d characters", name, n, strings.Count(got, "底"))
		}
	}
}

func TestLinesOfPreformattedTextInLists(t *testing.T) {
	t.Parallel()
	content := "<ul><li><pre>" + strings.Repeat("a\n", 500_001)
	if got := unreadable(t, "a.html", []byte(content)); got.Code != fault.FileTooLarge {
		t.Errorf("refused as %+v", got)
	}
}
