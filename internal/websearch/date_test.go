package websearch_test

import (
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/websearch"
)

func TestDates(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2026-09-01T00:00:00": "2026-09-01", "2026-09-01T09:00:00+09:00": "2026-09-01", "2026-09-01": "2026-09-01",
		"Tue, 01 Sep 2026 00:00:00 GMT": "2026-09-01", "2026年9月1日": "2026-09-01", "2026/9/1": "2026-09-01",
		"September 1, 2026": "2026-09-01", " 20260901 ": "2026-09-01",
		"2026-08-31T22:00:00Z": "2026-09-01", "2026-08-31T22:00:00+0000": "2026-09-01", // 7 o'clock in Japan.
		"Mon, 31 Aug 2026 22:00:00 GMT": "2026-09-01", "2026-09-01T23:30:00": "2026-09-01",
		"": "", "昨日": "", "1970-01-01": "", "2999-01-01": "", "0000-00-00": "",
	} {
		got := ""
		if d := websearch.DateOf(text); !d.IsZero() {
			got = d.Format(time.DateOnly)
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestDateOfPage(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		`<meta property="article:published_time" content="2026-08-05T18:00:00+09:00">`:                         "2026-08-05",
		`<meta name="date" content="2026-08-06"><time datetime="2026-08-07">`:                                  "2026-08-06",
		`<p><time class="x" datetime="2026-08-07">8月7日</time>`:                                                 "2026-08-07",
		`<meta property="article:modified_time" content="2026-08-09"><meta name=pubdate content="2026-08-08">`: "2026-08-08",
		`<meta name="description" content="2026-08-05"><p>2026-08-05`:                                          "0001-01-01",
		`<meta name="date" content="3000-01-01">`:                                                              "0001-01-01",
	} {
		if got := websearch.PublishedOf([]byte(page)).Format(time.DateOnly); got != want {
			t.Errorf("%s: %s, want %s", page, got, want)
		}
	}
}

func FuzzDateOfPage(f *testing.F) {
	f.Add([]byte(`<meta property="article:published_time" content="2026-08-05T18:00:00+09:00"><time datetime=x>`))
	f.Fuzz(func(t *testing.T, page []byte) {
		if d := websearch.PublishedOf(page); !d.IsZero() && d.Year() < 1990 {
			t.Errorf("published %v", d)
		}
	})
}
