package ooxml_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/tsumugi-ai/tsumugi/internal/ooxml"
)

// utf16Text returns a text in little-endian UTF-16 without byte order mark.
func utf16Text(s string) string {
	out, _ := binary.Append(nil, binary.LittleEndian, utf16.Encode([]rune(s)))
	return string(out)
}

func TestEncodings(t *testing.T) {
	t.Parallel()
	const text = "<a>日本語𠮷</a>"
	wide := "\xFF\xFE" + utf16Text(`<?xml version="1.0" encoding="UTF-16"?>`+text)
	for name, test := range map[string]struct{ part, want string }{
		"UTF-8": {`<?xml version="1.0" encoding="utf-8"?>` + text, `<?xml version="1.0" encoding="utf-8"?>` + text},
		"mark":  {"\xEF\xBB\xBF" + text, text}, "UTF-16": {wide, text}, "UTF-16 without a mark": {wide[2:], text},
		"Shift_JIS": {
			"<?xml version='1.0' encoding='Shift_JIS' standalone='yes'?><a>\x93\xfa\x96\x7b\x8c\xea&#x20BB7;</a>",
			"<a>日本語&#x20BB7;</a>",
		},
		"EUC-JP": {
			"<?xml version=\"1.0\" encoding = \"EUC-JP\"?><a>\xc6\xfc\xcb\xdc\xb8\xec&#x20BB7;</a>", "<a>日本語&#x20BB7;</a>",
		},
	} {
		p := opened(t, archive(t, "a.xml", test.part))
		if content, err := p.Read("A.xml"); err != nil || string(content) != test.want {
			t.Errorf("%s: read as %q and error %v", name, content, err)
		}
		err := p.Walk("/a.xml", func(w *ooxml.Walker) error {
			text, err := w.Text()
			if text != "日本語𠮷" {
				t.Errorf("%s: text %q", name, text)
			}
			return err
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWalk(t *testing.T) {
	t.Parallel()
	const content = `<?xml version="1.0"?><!-- <c> --><x:document ` +
		`xmlns:x="http://purl.oclc.org/ooxml/wordprocessingml/main" xmlns:val="v" ` +
		`xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">` +
		`<x:b x:val="off"/><c r:id="1" id="2">one<d>two</d>&lt;three</c ><x:p><x:q/><x:qChange><x:r/></x:qChange></x:p>` +
		`</x:document>`
	var got []string
	err := opened(t, archive(t, "a.xml", content)).Walk("a.xml", func(w *ooxml.Walker) error {
		got = append(got, w.Root.Tag(), w.Root.Name([]byte(content)), w.Root.Attr("val"))
		return w.Each(func(e ooxml.Element) error {
			switch e.Local {
			case "c":
				text, err := w.Text()
				from, to := w.End()
				got = append(got, e.Tag(), e.Attr("id"), e.Attr("r:id"), text, content[from:to])
				return err
			case "p":
				return w.All(func(e ooxml.Element) { got = append(got, e.Tag()) })
			}
			got = append(got, content[e.From:e.To], fmt.Sprint(e.On("val"), e.On("other")))
			return nil
		})
	})
	if want := []string{
		"w:document", "x:document", "", `<x:b x:val="off"/>`, "false true", ":c", "2", "1", "one<three", "</c >", "w:q",
	}; err != nil || !slices.Equal(got, want) {
		t.Errorf("read as %q and error %v, want %q", got, err, want)
	}
}

// FuzzWalk verifies that any part is read without a hang, and that Walk and WalkContent read the same elements, with
// the offsets of their tags.
func FuzzWalk(f *testing.F) {
	for _, part := range []string{
		"<a b='>'><!-- <c> --><c/><![CDATA[<d>]]></a >", "\xEF\xBB\xBF<?xml version='1.0' encoding='sjis'?><a>\x93\xfa</a>",
		"\xFF\xFE" + utf16Text("<?xml version='1.0' encoding='UTF-16'?><日本:語/>"), "<a><b></a>",
		"<!DOCTYPE a [<!ENTITY b 'b'>]><a>&b;</a>", "<a xmlns:b='c'>&#13;&lt;</a><?e?>",
	} {
		f.Add([]byte(part))
	}
	f.Fuzz(func(t *testing.T, part []byte) {
		p := ooxml.New()
		p.Replace("a.xml", part)
		collect := func(into *[]ooxml.Element) func(*ooxml.Walker) error {
			return func(w *ooxml.Walker) error {
				*into = append(*into, w.Root)
				w.Observe = func(e ooxml.Element) { *into = append(*into, e) }
				return w.Skip()
			}
		}
		var streamed, stored []ooxml.Element
		failed := p.Walk("a.xml", collect(&streamed))
		known(t, failed)
		content, err := p.Read("a.xml")
		if err == nil {
			err = p.WalkContent(content, collect(&stored))
		}
		known(t, err)
		if (failed == nil) != (err == nil) || fmt.Sprint(streamed) != fmt.Sprint(stored) {
			t.Fatalf("Walk: %v and error %v; WalkContent: %v and error %v", streamed, failed, stored, err)
		}
		for _, e := range stored {
			tag := string(content[e.From:e.To])
			if !strings.HasPrefix(tag, "<") || !strings.HasSuffix(tag, ">") ||
				!strings.HasSuffix(e.Name(content), e.Local) {
				t.Fatalf("%+v has the tag %q", e, tag)
			}
		}
	})
}
