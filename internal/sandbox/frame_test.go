package sandbox_test

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/sandbox"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// next returns the first frame of a child's output and its body.
func next(content string, body int) (kind byte, head, text string, err error) {
	r := sandbox.NewReader(strings.NewReader(content))
	kind, found, err := r.Next()
	if err == nil {
		text, err = r.Body(body)
	}
	return kind, string(found), text, err
}

func TestFramesPreserveHeadAndBody(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	must.Succeed(t, sandbox.NewWriter(&b).Frame('p', []byte("頭"), "本文"))
	whole := b.String()
	kind, head, body, err := next(whole, len("本文"))
	if kind != 'p' || head != "頭" || body != "本文" || err != nil {
		t.Errorf("%q %q %q, error %v", kind, head, body, err)
	}
	for i := range whole {
		if _, _, _, err := next(whole[:i], len("本文")); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%d of %d bytes: error %v, want an unexpected end", i, len(whole), err)
		}
	}
}

func TestMalformedFramesAreRefused(t *testing.T) {
	t.Parallel()
	failed := func(reason string) string {
		var b bytes.Buffer
		c := &sandbox.Child{Writer: sandbox.NewWriter(&b)}
		must.Succeed(t, c.End(&fault.UnreadableError{Code: fault.FileCorrupt, Reason: reason}))
		return b.String()
	}
	for name, content := range map[string]string{
		"huge head":                   "p\xff\xff\xff\xff",
		"end with a head":             "e\x00\x00\x00\x01a",
		"reason without JSON":         "f\x00\x00\x00\x01{",
		"long reason":                 failed(strings.Repeat("a", 2000)),
		"reason with control letters": failed("a\x00"),
		"no reason":                   failed(""),
	} {
		if _, _, _, err := next(content, 0); !errors.Is(err, sandbox.ErrMalformed) {
			t.Errorf("%s: error %v, want ErrMalformed", name, err)
		}
	}
	for name, content := range map[string]string{"end": "e\x00\x00\x00\x00", "kind": "s\x00\x00\x00\x00"} {
		if _, err := sandbox.NewReader(strings.NewReader(content)).Answer(); !errors.Is(err, sandbox.ErrMalformed) {
			t.Errorf("%s instead of the answer: error %v, want ErrMalformed", name, err)
		}
	}
	if _, _, _, err := next("e\x00\x00\x00\x00", 0); !errors.Is(err, io.EOF) || errors.Is(err, sandbox.ErrMalformed) {
		t.Errorf("error %v, want the end", err)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add([]byte("r\x00\x00\x00\x01a"))
	f.Add([]byte("f\x00\x00\x00\x20{\"Code\":\"corrupt\",\"Reason\":\"a\"}"))
	f.Fuzz(func(t *testing.T, content []byte) {
		r := sandbox.NewReader(bytes.NewReader(content))
		for {
			_, head, err := r.Next()
			if err != nil {
				return
			}
			if len(head) > len(content) {
				t.Fatalf("a head of %d bytes in %d", len(head), len(content))
			}
		}
	})
}
