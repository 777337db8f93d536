package runes_test

import (
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

func TestTextsAreShortenedByCharacters(t *testing.T) {
	t.Parallel()
	const text = "紡ぐa"
	for _, test := range []struct {
		n                       int
		first, truncated, bytes string
	}{
		{-1, "", "", ""},
		{0, "", "", ""},
		{1, "紡", "…", ""},
		{2, "紡ぐ", "紡…", ""},
		{3, text, text, "紡"},
		{6, text, text, "紡ぐ"},
		{7, text, text, text},
		{8, text, text, text},
	} {
		if got := runes.First(text, test.n); got != test.first {
			t.Errorf("First(%d) = %q, want %q", test.n, got, test.first)
		}
		if got := runes.Truncate(text, test.n); got != test.truncated {
			t.Errorf("Truncate(%d) = %q, want %q", test.n, got, test.truncated)
		}
		if got := runes.FirstBytes(text, max(test.n, 0)); got != test.bytes {
			t.Errorf("FirstBytes(%d) = %q, want %q", test.n, got, test.bytes)
		}
	}
}

func TestColumnsOfIdeographsCountTwice(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"": 0, "abc": 3, "紡ぐ": 4, "日本語aｱ": 8, "Ａ": 2, "ｱ": 1, "か\u3099": 2, "a\u200d": 1} {
		if got := runes.Columns(text); got != want {
			t.Errorf("Columns(%q) = %d, want %d", text, got, want)
		}
	}
}

func TestNamesAreVisible(t *testing.T) {
	t.Parallel()
	for _, blank := range []string{"", " \u3000", "\u200b", "\u2028", "\u3164", "\u115f\uffa0", "\ufe0f", "\U000e0041", "\u2800"} {
		if !runes.Blank(blank) {
			t.Errorf("%q counts as visible", blank)
		}
	}
	for _, name := range []string{"紡", "a\u200d", "❤\ufe0f", "👩‍💻", "葛\U000e0100", "می\u200cخواهم", "ᅟ가"} {
		if runes.Blank(name) || strings.ContainsFunc(name, runes.NotInName) {
			t.Errorf("%q is no name", name)
		}
	}
	for _, r := range "\n\x00\u202e\u200f\u2028\u2029" {
		if !runes.NotInName(r) {
			t.Errorf("%q is allowed", r)
		}
	}
}
