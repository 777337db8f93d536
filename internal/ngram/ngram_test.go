package ngram_test

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/ngram"
)

func TestFold(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"ＡＢＣ１２３":    "abc123",
		"ﾃﾞｰﾀ":      "データ",
		"ひらがな":      "ヒラガナ",
		"か\u3099":   "ガ", // A combining mark.
		"㈱紡":        "(株)紡",
		"m²とCO₂":    "m2トco2",
		"10⁻³、注¹⁾":  "10−3、注1)",
		"①　第２条\n改行": "1 第2条 改行",
		"𠮷野家":       "𠮷野家",
		"İ":         "i",
		"":          "",
	} {
		if got := ngram.Fold(text).String(); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, term string
		want       []string
	}{
		{"来週の会議のﾃﾞｰﾀとデータ", "でーた", []string{"ﾃﾞｰﾀ", "データ"}},
		{"㈱紡", "株", []string{"㈱"}},
		{"100m²と100m2", "m²", []string{"m²", "m2"}},
		{"100m²と100m2", "m2", []string{"m²", "m2"}},
		{"かきくけこ", "キク", []string{"きく"}},
		{"ああああ", "ああ", []string{"ああ", "ああ"}},
		{"𠮷野家と吉野家", "野家", []string{"野家", "野家"}},
		{"会議", "会議室", nil},
		{"", "会", nil},
	} {
		var got []string
		runes := []rune(c.text)
		for _, r := range ngram.Fold(c.text).Find(ngram.Terms(c.term)[0], 10) {
			got = append(got, string(runes[r[0]:r[1]]))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q in %q: %q, want %q", c.term, c.text, got, c.want)
		}
	}
	if got := ngram.Fold("ああああ").Find("ア", 3); len(got) != 3 {
		t.Errorf("%v are more than the limit", got)
	}
}

func TestKeysOfScopesDiffer(t *testing.T) {
	t.Parallel()
	a, b := ngram.Keys([]byte("a"), ngram.Fold("会議の資料")), ngram.Keys([]byte("b"), ngram.Fold("会議の資料"))
	if slices.Equal(a, b) || len(a) != 12 {
		t.Errorf("keys are %v and %v", a, b)
	}
}

// FuzzFind compares the index and Find with a plain search for a folded term in a folded text.
func FuzzFind(f *testing.F) {
	f.Add("来週の会議のﾃﾞｰﾀ", "データ")
	f.Add("か\u3099き", "ガ")
	f.Add("a\xffb", "\xff")
	f.Fuzz(func(t *testing.T, text, query string) {
		folded := ngram.Fold(text)
		terms := ngram.Terms(query)
		all := len(terms) > 0
		for _, term := range terms {
			found := folded.Find(term, 1)
			if (len(found) > 0) != strings.Contains(folded.String(), term) {
				t.Fatalf("%q in %q: %v", term, folded, found)
			}
			for _, r := range found {
				if r[0] < 0 || r[0] >= r[1] || r[1] > utf8.RuneCountInString(text) {
					t.Fatalf("%q in %q: %v is out of range", term, text, r)
				}
			}
			all = all && len(found) > 0
		}
		keys := ngram.Keys(nil, folded)
		for _, key := range ngram.QueryKeys(nil, terms) {
			if _, there := slices.BinarySearch(keys, key); all && !there {
				t.Fatalf("%q holds %q, but not its key", text, query)
			}
		}
	})
}

func BenchmarkKeys(b *testing.B) {
	text := strings.Repeat("来週の会議の資料を、木曜日までにご用意ください。", 100)
	for b.Loop() {
		ngram.Keys([]byte("scope"), ngram.Fold(text))
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"":              nil,
		"の":             {"ノ"},
		"就業規則":          {"就", "業", "就業", "規", "業規", "則", "規則"},
		"ﾊﾞｽ、が":         {"バ", "ス", "バス", "ガ"},
		"第１２条 Web API":  {"第", "12", "条", "web", "api"},
		"1,234.5円, 6.":  {"1234.5", "円", "6"},
		"H1N1/Überraum": {"h1n1", "überraum"},
		"10m² 1,234 ¹⁾": {"10m2", "1234", "1"},
		"二〇二六":          {"二", "〇", "二〇", "二", "〇二", "六", "二六"},
		"한국어 말":         {"한국어", "말"},
		"😀 -- ＝":        nil,
	} {
		if got := slices.Collect(ngram.Fold(text).Tokens()); !slices.Equal(got, want) {
			t.Errorf("%q has %q, want %q", text, got, want)
		}
	}
	long := slices.Collect(ngram.Fold(strings.Repeat("a", 1000)).Tokens())
	if len(long) != 1 || len(long[0]) > 64 {
		t.Errorf("a word of 1000 letters became %d tokens", len(long))
	}
}

func FuzzTokens(f *testing.F) {
	f.Add("第１２条 1,234.5円 Web 한국어 か\u3099")
	f.Fuzz(func(t *testing.T, text string) {
		for token := range ngram.Fold(text).Tokens() {
			if token == "" || len(token) > 80 || !utf8.ValidString(token) && utf8.ValidString(text) {
				t.Fatalf("token %q", token)
			}
		}
	})
}

func TestRankedExcerptShowsThePartWithTheMostWords(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("これはほかのことについての文章です。", 10)
	for query, want := range map[string][]string{
		"経費の精算はいつまで？": {"経費", "精算"}, // Not 経費 alone in another part, and no particles.
		"HTTP の設定":    {"HTTP", "設定"},
		"ほかのこと":       slices.Repeat([]string{"ほかのこと"}, 5), // Without kanji and katakana, hiragana are marked.
		"鯨":           nil,
	} {
		text := "経費。" + filler + "精算する経費は月末までに届ける。" + filler + "ＨＴＴＰを設定する。"
		e := ngram.NewRankedExcerpt(text, query)
		var marked []string
		for _, r := range e.Ranges {
			marked = append(marked, ngram.Fold(string([]rune(e.Text)[r[0]:r[1]])).String())
		}
		slices.Sort(marked)
		for i := range want {
			want[i] = ngram.Fold(want[i]).String()
		}
		slices.Sort(want)
		if !slices.Equal(marked, want) {
			t.Errorf("%s: %q with %q, want %q", query, e.Text, marked, want)
		}
	}
}
