package redline_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/redline"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// withRuby is the text with ruby in one of the files. A second change of it becomes only a comment.
const withRuby = "勤怠管理"

// someChanges returns random changes of a text. No change crosses lines.
func someChanges(rng *rand.Rand, text string, most int) (changes []redline.Change) {
	runes := []rune(text)
	words := []string{"", "", "改", "訂正", "x\ty", "<&>", "👪", "長い文章に置き換えます。"}
	comments := []string{"", "誤字です。", "表記を「<いただく>」に\nそろえます。"}
	at, bytes, touched := 0, 0, false
	skip := func(n int) string {
		taken := string(runes[at : at+n])
		at, bytes = at+n, bytes+len(taken)
		return taken
	}
	for len(changes) < most {
		skip(min(rng.IntN(2*len(runes)/most+2), len(runes)-at))
		if at == len(runes) {
			break
		}
		n := 0
		for n < rng.IntN(12) && at+n < len(runes) && runes[at+n] != '\n' {
			n++
		}
		start := bytes
		before := skip(n)
		if ruby := strings.Index(text, withRuby); ruby >= 0 && start < ruby+len(withRuby) && bytes > ruby {
			if touched {
				continue
			}
			touched = true
		}
		after := words[rng.IntN(len(words))]
		if after == before {
			after += "字"
		}
		changes = append(changes, redline.Change{
			Start: start, Before: before, After: after, Comment: comments[rng.IntN(len(comments))],
		})
	}
	return changes
}

// files returns documents written by Word and LibreOffice, and one written by New.
func files(t testing.TB) map[string][]byte {
	t.Helper()
	all := make(map[string][]byte)
	paths, err := filepath.Glob("testdata/*.docx")
	if err != nil || len(paths) == 0 {
		t.Fatal("no files", err)
	}
	for _, path := range paths {
		if all[filepath.Base(path)], err = os.ReadFile(path); err != nil {
			t.Fatal(err)
		}
	}
	if all["new"], err = redline.New("件名：ご案内\n\n拝啓　時下ますますご清栄のこととお慶び申し上げます。\n<b>&amp;👪"); err != nil {
		t.Fatal(err)
	}
	return all
}

func TestWriteModifiesOnlyTheChanges(t *testing.T) {
	t.Parallel()
	for name, file := range files(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			original := text(t, file)
			for seed := range uint64(20) {
				rng := rand.New(rand.NewPCG(seed, 1))
				changes := someChanges(rng, original, 1+rng.IntN(40))
				want := applied(original, changes)
				marked := must.Get(mark(file, changes...))(t)
				if got := text(t, marked); got != want {
					t.Fatalf("seed %d: marked\n%q, want\n%q", seed, got, want)
				}
				if got := text(t, rejected(t, marked)); got != original {
					t.Fatalf("seed %d: rejected\n%q, want\n%q", seed, got, original)
				}
				clean := must.Get(redline.Write(file, redline.Edit{Changes: changes}))(t)
				if got := text(t, clean); got != want {
					t.Fatalf("seed %d: applied\n%q, want\n%q", seed, got, want)
				}
				onlyThese(t, file, clean, "word/document.xml", "word/footnotes.xml")
				onlyThese(t, file, marked, "word/document.xml", "word/footnotes.xml", "word/comments.xml",
					"word/_rels/document.xml.rels", "[Content_Types].xml")
			}
		})
	}
}

// onlyThese fails the test if parts other than the given ones differ from the original, in compressed form.
func onlyThese(t *testing.T, original, file []byte, parts ...string) {
	t.Helper()
	raw := func(file []byte) map[string]string {
		all := make(map[string]string)
		for _, f := range archive(t, file).File {
			r := must.Get(f.OpenRaw())(t)
			var b bytes.Buffer
			if _, err := b.ReadFrom(r); err != nil {
				t.Fatal(err)
			}
			all[f.Name] = f.Modified.String() + "\n" + b.String()
		}
		return all
	}
	before, after := raw(original), raw(file)
	for _, name := range parts {
		delete(before, name)
		delete(after, name)
	}
	for name := range before {
		if before[name] != after[name] {
			t.Errorf("%s differs", name)
		}
		delete(after, name)
	}
	for name := range after {
		t.Errorf("%s is new", name)
	}
}
