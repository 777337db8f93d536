package runes_test

import (
	"testing"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/runes"
)

func TestScriptsHaveUnicodeForms(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		before, text string
		raised       bool
		want         string
	}{
		{"m", "2", true, "²"},
		{"CO", "2", false, "₂"},
		{"10", "-3", true, "⁻³"},
		{"10", "−３", true, "⁻³"},
		{"10", "n+1", true, "ⁿ⁺¹"},
		{"x", "i", false, "ᵢ"},
		{"Ca", "2+", true, "²⁺"},
		{"1", "st", true, "st"},
		{"V", "max", false, "max"},
		{"売上高", "1)", true, "¹⁾"},
		{"売上高", "1,2", true, "¹,²"},
		{"著者", "2,*", true, "²,*"},
		{"1,234", "1)", true, " ¹⁾"},
		{"1,234", "1", true, " ¹"},
		{"2024", "2", true, " ²"},
		{"12", "注1", true, " 注1"},
		{"12", "*1", true, " *¹"},
		{"12", "*", true, "*"},
		{"売上高", "注1)", true, "注1)"},
		{"12", "a", true, "ᵃ"},
		{"", "12345678901234567", true, "12345678901234567"},
		{"", "", true, ""},
	} {
		if got := runes.Script(test.before, test.text, test.raised); got != test.want {
			t.Errorf("Script(%q, %q, %v) = %q, want %q", test.before, test.text, test.raised, got, test.want)
		}
	}
	if got := runes.AfterScript("¹", "2024年") + runes.AfterScript("¹", "年") + runes.AfterScript("1", "2"); got != " " {
		t.Errorf("space after a script: %q", got)
	}
}

func FuzzScript(f *testing.F) {
	f.Add("1", "2)", true)
	f.Fuzz(func(t *testing.T, before, text string, raised bool) {
		got := runes.Script(before, text, raised)
		if n := utf8.RuneCountInString(got) - utf8.RuneCountInString(text); n != 0 && n != 1 {
			t.Errorf("Script(%q, %q) = %q", before, text, got)
		}
	})
}
