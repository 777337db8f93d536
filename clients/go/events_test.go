package tsumugi_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	tsumugi "github.com/tsumugi-ai/tsumugi/clients/go"
)

// read returns the events of a stream, one line each.
func read(r io.Reader) (string, error) {
	var got strings.Builder
	err := tsumugi.ReadEvents(r, func(data, id string, retry time.Duration) {
		_, _ = fmt.Fprintf(&got, "%q %q %s\n", data, id, retry)
	})
	return got.String(), err
}

// wire contains an event of each form, with every kind of line end.
var wire = strings.Join([]string{
	"\ufeffretry: 1500", "", // With a byte order mark.
	": a heartbeat", "",
	"data: 一", "id: 1-3", "",
	"data:two", "data:  lines", "event: passed over", "", // The space is optional, and only one space is removed.
	"id: 1-9", "", // An event without data is dropped, together with its id.
	"data", "", // A field without a colon is empty.
	"data: x", "id: 1\x00", "retry: soon", "",
	"data: cut off", "id: 1-99", "",
}, "\n")

const wanted = `"" "" 1.5s
"一" "1-3" 0s
"two\n lines" "" 0s
"" "" 0s
"x" "" 0s
`

func TestEventsInPiecesOfAnySize(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r\n", "\r"} {
		text := strings.ReplaceAll(wire, "\n", end)
		for name, r := range map[string]io.Reader{
			"whole": strings.NewReader(text), "byte by byte": iotest.OneByteReader(strings.NewReader(text)),
			"with the end": iotest.DataErrReader(strings.NewReader(text)),
		} {
			if got, err := read(r); got != wanted || !errors.Is(err, io.EOF) {
				t.Errorf("%q, %s: %v\n%s", end, name, err, got)
			}
		}
	}
}

func TestALineWithoutEndIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := read(strings.NewReader("data: " + strings.Repeat("x", 2<<20))); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("got %v", err)
	}
}

// FuzzR02Events checks that the events do not depend on how a stream is split into reads, and that an incomplete event
// is dropped.
func FuzzR02Events(f *testing.F) {
	f.Add(wire, 3)
	f.Add(strings.ReplaceAll(wire, "\n", "\r"), 10)
	f.Add("data: a\r", 0)
	f.Fuzz(func(t *testing.T, text string, at int) {
		whole, err := read(strings.NewReader(text))
		if !errors.Is(err, io.EOF) {
			return // The line is too long.
		}
		if got, _ := read(iotest.OneByteReader(strings.NewReader(text))); got != whole {
			t.Errorf("byte by byte:\n%s\nwhole:\n%s", got, whole)
		}
		if at < 0 || at > len(text) {
			return
		}
		got, _ := read(strings.NewReader(text[:at]))
		if at > 0 && text[at-1] == '\r' {
			return // The line is complete with or without a following LF.
		}
		if !strings.HasPrefix(whole, got) {
			t.Errorf("cut at %d:\n%s\nwhole:\n%s", at, got, whole)
		}
	})
}
