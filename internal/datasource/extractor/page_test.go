package extractor_test

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extractor"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/sandbox"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func frames(t testing.TB, end error, pages ...extract.Page) []byte {
	t.Helper()
	var b bytes.Buffer
	must.Succeed(t, extractor.WritePages(&b, pages, end))
	return b.Bytes()
}

var somePages = []extract.Page{
	{Number: 1, Text: "第1章\n目的を定める。", Marks: []extract.Mark{
		{Offset: 0, Locator: "第1章", Heading: true},
		{Offset: 8, Locator: "第1章"},
	}},
	{Number: 2},
	{Number: 3, Text: strings.Repeat("吾輩は猫である。", 20_000)},
}

func TestFramesPreservePages(t *testing.T) {
	t.Parallel()
	got, err := extractor.ReadPages(frames(t, nil, somePages...))
	if err != nil || !reflect.DeepEqual(got, somePages) {
		t.Errorf("error %v, or pages that are not those written", err)
	}
}

func TestTruncatedFramesAreAnError(t *testing.T) {
	t.Parallel()
	whole := frames(t, nil, somePages[:2]...)
	for i := range whole {
		if _, err := extractor.ReadPages(whole[:i]); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Fatalf("%d of %d bytes: error %v, want an unexpected end", i, len(whole), err)
		}
	}
}

func TestMalformedFramesAreRefused(t *testing.T) {
	t.Parallel()
	encrypted := &fault.UnreadableError{Code: fault.FileEncrypted, Reason: "パスワードで保護されています。"}
	long := extract.Page{Number: 1, Text: strings.Repeat("a", extractor.MaxCharacters/2+1)}
	second := long
	second.Number = 2
	many := make([]extract.Page, extract.MaxPages+1)
	for i := range many {
		many[i].Number = i + 1
	}
	for name, test := range map[string]struct {
		frames []byte
		want   error
	}{
		"many steps":   {[]byte(strings.Repeat("s\x00\x00\x00\x02{}", 3)), sandbox.ErrMalformed},
		"unknown kind": {[]byte("x\x00\x00\x00\x00"), sandbox.ErrMalformed},
		"huge head":    {[]byte("p\xff\xff\xff\xff"), sandbox.ErrMalformed},
		"no JSON":      {[]byte("p\x00\x00\x00\x01{"), sandbox.ErrMalformed},
		"no page":      {[]byte("e\x00\x00\x00\x00"), sandbox.ErrMalformed},
		"long reason": {
			frames(t, &fault.UnreadableError{Code: "corrupt", Reason: strings.Repeat("a", 2000)}),
			sandbox.ErrMalformed,
		},
		"wrong order":       {frames(t, nil, extract.Page{Number: 2}), sandbox.ErrMalformed},
		"no UTF-8":          {frames(t, nil, extract.Page{Number: 1, Text: "\xff"}), sandbox.ErrMalformed},
		"control character": {frames(t, nil, extract.Page{Number: 1, Text: "a\x00"}), sandbox.ErrMalformed},
		"mark behind the end": {
			frames(t, nil, extract.Page{Number: 1, Text: "a", Marks: []extract.Mark{{Offset: 2}}}),
			sandbox.ErrMalformed,
		},
		"mark in a character": {
			frames(t, nil, extract.Page{Number: 1, Text: "紡", Marks: []extract.Mark{{Offset: 1}}}),
			sandbox.ErrMalformed,
		},
		"marks out of order": {frames(t, nil, extract.Page{
			Number: 1, Text: "ab",
			Marks: []extract.Mark{{Offset: 1}, {}},
		}), sandbox.ErrMalformed},
		"long locator": {
			frames(t, nil, extract.Page{Number: 1, Marks: []extract.Mark{{Locator: strings.Repeat("a", 2000)}}}),
			sandbox.ErrMalformed,
		},
		"too many characters": {frames(t, nil, long, second), extract.ErrTooManyCharacters},
		"too many pages":      {frames(t, nil, many...), extract.ErrTooManyPages},
		"a reason":            {frames(t, encrypted), encrypted},
	} {
		_, err := extractor.ReadPages(test.frames)
		if !errors.Is(err, test.want) && (err == nil || err.Error() != test.want.Error()) {
			t.Errorf("%s: error %v, want %v", name, err, test.want)
		}
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(frames(f, nil, somePages[:2]...))
	f.Add(frames(f, extract.ErrTooManyPages))
	f.Add([]byte("p\x00\x00\x00\x20{\"number\":1,\"bytes\":99999999999}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		pages, err := extractor.ReadPages(content)
		if err != nil {
			return
		}
		if again := frames(t, nil, pages...); len(again) > 8*len(content)+1<<10 {
			t.Fatalf("%d bytes became %d", len(content), len(again))
		}
	})
}
