package wire

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

func TestDechunkerUndoesAnyCut(t *testing.T) {
	t.Parallel()
	coded := []byte("5\r\nhello\r\n1\r\n,\r\nb\r\n 日本語!\r\n")
	const want = "hello, 日本語!"
	for step := 1; step <= len(coded); step++ {
		var d dechunker
		var got []byte
		for rest := coded; len(rest) > 0; rest = rest[min(step, len(rest)):] {
			if _, err := d.feed(rest[:min(step, len(rest))],
				func(b []byte) bool { got = append(got, b...); return false }); err != nil {
				t.Fatal(err)
			}
		}
		if string(got) != want {
			t.Errorf("in steps of %d: got %q", step, got)
		}
	}
	for coded, want := range map[string]error{"zz\r\n": errChunk, "0\r\n\r\n": io.EOF} {
		var d dechunker
		if _, err := d.feed([]byte(coded), func([]byte) bool { return false }); !errors.Is(err, want) {
			t.Errorf("%q: %v", coded, err)
		}
	}
}

// collector is a sink that collects a number of bytes.
type collector struct {
	text string
	want int
}

func (c *collector) Take(b []byte, _ time.Time) bool {
	c.text += string(b)
	return c.want > 0 && len(c.text) >= c.want
}

func TestFollowReadsEveryFormOfResponse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		response string
		want     int
		text     string
		failure  error
	}{
		"chunked": {
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", 0, "abcde", io.EOF,
		},
		"until it closes":      {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabcde", 0, "abcde", io.EOF},
		"until it is enough":   {"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabc", 3, "abc", nil},
		"broken in mid-stream": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nab", 0, "ab", io.EOF},
	} {
		near, far := net.Pipe()
		go func() {
			_, _ = io.WriteString(far, test.response)
			_ = far.Close()
		}()
		begun := false
		c := &collector{want: test.want}
		err := Follow(t.Context(), near, SmallBuffer, func() { begun = true }, c)
		if !errors.Is(err, test.failure) || c.text != test.text || !begun {
			t.Errorf("%s: %q, %v, begun %v", name, c.text, err, begun)
		}
		_ = near.Close()
	}
}

func TestFollowTellsTheStatus(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	defer near.Close()
	go func() {
		_, _ = io.WriteString(far, "HTTP/1.1 429 Too Many Requests\r\nRetry-After: 7\r\nContent-Length: 2\r\n\r\n{}")
		_ = far.Close()
	}()
	err := Follow(t.Context(), near, SmallBuffer, nil, &collector{})
	var status *StatusError
	if !errors.As(err, &status) || status.Status != 429 || status.RetryAfter != "7" || status.Body != "{}" {
		t.Errorf("got %v", err)
	}
}
