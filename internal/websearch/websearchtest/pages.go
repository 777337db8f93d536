package websearchtest

import (
	"net/http"
	"strings"

	"golang.org/x/text/encoding/japanese"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf/pdftest"
)

// Facts of the pages. All are fictitious.
const (
	wage = "<h1>つむぎ県の最低賃金</h1><p>つむぎ県の地域別最低賃金は、2026年10月1日から時間額1,142円に改定されます。" +
		"引上げ額は58円です。</p><p>最低賃金は、パートタイムで働く人を含むすべての労働者に適用されます。</p>"
	wageNews = "<h1>最低賃金の改定額を答申</h1><p>審議会は8月5日、つむぎ県の最低賃金を時間額1,142円とするよう答申した。" +
		"前年度からの引上げ額は58円で、過去最大となる。</p>"
	books = "<h1>電子帳簿保存法の手引き</h1><p>電子取引で受け取った請求書は、電子データのまま保存する必要があります。" +
		"保存期間は、原則として7年です。</p>"
	fair = "<h1>人事の展示会</h1><p>人事労務フェアは、12月3日から5日まで、つむぎ国際会議場で開かれます。入場は無料です。</p>"
	rule = "生成AIの利用手引き。個人情報を入力するときは、事前に情報管理責任者の承認を得る。"
)

// pages returns the pages of each Server.
func pages() []Page {
	return []Page{
		{
			Path: "/pages/minimum-wage", Title: "つむぎ県の最低賃金 | つむぎ労働局",
			Excerpt: "つむぎ県の最低賃金の改定額と、いつから変わるかについて。", Published: "2026-09-01T00:00:00",
			Serve: HTML("つむぎ県の最低賃金 | つむぎ労働局", wage),
		},
		{
			Path: "/pages/minimum-wage-news", Title: "最低賃金の改定額を答申 - つむぎ新聞",
			Excerpt: "つむぎ県の最低賃金の引上げ額は過去最大。",
			Serve: encoded("text/html; charset=utf-8", document("最低賃金の改定額を答申 - つむぎ新聞",
				`<meta property="article:published_time" content="2026-08-05T18:00:00+09:00">`, wageNews)),
		},
		{
			Path: "/pages/books", Title: "電子帳簿保存法の手引き", Excerpt: "電子帳簿保存法で中小企業が対応すること。保存期間など。",
			Serve: shiftJIS(document("電子帳簿保存法の手引き", `<meta charset="Shift_JIS">`, books)),
		},
		{
			Path: "/pages/fair", Title: "人事労務フェアのご案内", Excerpt: "人事の展示会の会期と会場。",
			Serve: eucJP(document("人事労務フェアのご案内", "", fair)),
		},
		{
			Path: "/pages/ai-rules.pdf", Title: "生成AIの利用手引き（PDF）", Excerpt: "生成AIに個人情報を入力するときの承認。",
			Serve: encoded("application/pdf", rules()),
		},
		{Path: "/moved", Title: "移転したページ", Excerpt: "最低賃金のページの移転。", Serve: to("/pages/minimum-wage")},
		{
			Path: "/leads/metadata", Title: "メタデータへの転送", Excerpt: "転送の試験。",
			Serve: to("http://169.254.169.254/latest/meta-data/"),
		},
		{
			Path: "/leads/loopback", Title: "この機械への転送", Excerpt: "転送の試験。",
			Serve: to("http://127.0.0.1:9/"),
		},
		{Path: "/leads/round", Title: "終わらない転送", Excerpt: "転送の試験。", Serve: to("/leads/round")},
		{Path: "/slow", Title: "遅いページ", Excerpt: "応答しない試験。", Serve: slow},
		{Path: "/huge", Title: "大きいページ", Excerpt: "終わらない試験。", Serve: huge},
		{
			Path: "/private/report", Title: "非公開の報告書", Excerpt: "非公開の試験。検索結果だけに出る抜粋です。",
			Serve: HTML("非公開の報告書", "<p>読まれてはならない本文。</p>"),
		},
		{
			Path: "/pages/picture", Title: "写真", Excerpt: "画像の試験。",
			Serve: encoded("image/png", []byte("\x89PNG\r\n\x1a\n")),
		},
	}
}

func shiftJIS(content []byte) http.HandlerFunc {
	coded, err := japanese.ShiftJIS.NewEncoder().Bytes(content)
	if err != nil {
		panic(err) // The texts above can be encoded.
	}
	return encoded("text/html", coded)
}

func eucJP(content []byte) http.HandlerFunc {
	coded, err := japanese.EUCJP.NewEncoder().Bytes(content)
	if err != nil {
		panic(err) // The texts above can be encoded.
	}
	return encoded("text/html", coded)
}

func rules() []byte {
	page := new(pdftest.Page)
	page.Text(72, 760, 14, rule)
	return pdftest.Draw([]*pdftest.Page{page})
}

func to(target string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, target, http.StatusFound) }
}

// slow never responds.
func slow(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// huge never ends. Its distinctive text is at the beginning.
func huge(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, err := w.Write([]byte("<title>大きいページ</title><h1>大きいページ</h1><p>大きいページの始まりは、この文です。</p>"))
	for filler := []byte("<p>" + strings.Repeat("続きがあります。", 1000) + "</p>"); err == nil; {
		_, err = w.Write(filler)
	}
}
