package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// dial asks a server for a stream and returns the connection. The request and the response are plain HTTP/1.1; they are
// read by hand since net/http's client would cost more than the servers that are measured.
func dial(ctx context.Context, address, path, lastEventID string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	request := "GET " + path + " HTTP/1.1\r\nHost: " + address + "\r\nAccept: text/event-stream\r\n"
	if lastEventID != "" {
		request += "Last-Event-ID: " + lastEventID + "\r\n"
	}
	if _, err := conn.Write([]byte(request + "\r\n")); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// sink takes the body of an event stream.
type sink interface {
	// take is given the next bytes, which are valid during the call, and when they were read. It reports whether the
	// sink has all that it waits for; it is given no more then.
	take(b []byte, at time.Time) bool
}

const readBuffer = 64 << 10

// follow reads a response into a sink until that has all, the connection ends, or ctx does.
func follow(ctx context.Context, conn net.Conn, into sink) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	buffered := bufio.NewReaderSize(conn, readBuffer)
	response, err := http.ReadResponse(buffered, nil) //nolint:bodyclose // The body is the connection, which is the caller's.
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return errors.New("the server answered " + response.Status)
	}
	chunks := dechunker{}
	for {
		if _, err := buffered.Peek(1); err != nil {
			return err
		}
		at := time.Now()
		b, _ := buffered.Peek(buffered.Buffered())
		done, err := chunks.feed(b, func(body []byte) bool { return into.take(body, at) })
		if err != nil || done {
			return err
		}
		if _, err := buffered.Discard(len(b)); err != nil {
			return err
		}
	}
}

// dechunker undoes the chunked coding, without copying. net/http's own is not used, since the response's body is read
// past it.
type dechunker struct {
	left int    // Bytes of the current chunk that are to come.
	line []byte // The part of a size line that has come.
	end  int    // Bytes of the line break behind a chunk that are to come.
}

var errChunk = errors.New("a chunk's size cannot be read")

// feed passes the body's bytes in b on. It stops and returns true as soon as take does.
func (d *dechunker) feed(b []byte, take func([]byte) bool) (bool, error) {
	for len(b) > 0 {
		switch {
		case d.left > 0:
			n := min(d.left, len(b))
			d.left -= n
			if d.left == 0 {
				d.end = 2
			}
			if take(b[:n]) {
				return true, nil
			}
			b = b[n:]
		case d.end > 0:
			n := min(d.end, len(b))
			d.end -= n
			b = b[n:]
		default:
			line, rest, found := bytes.Cut(b, []byte("\n"))
			d.line = append(d.line, line...)
			if b = rest; !found {
				return false, nil
			}
			size, err := strconv.ParseUint(strings.TrimSpace(string(d.line)), 16, 31)
			d.line = d.line[:0]
			if err != nil || size == 0 {
				return false, errChunk // No stream ends while it is watched.
			}
			d.left = int(size)
		}
	}
	return false, nil
}

// reader is a sink that reads every event and decodes the tokens in it.
type reader struct {
	want       int // It has all when so many tokens have come, lost ones counted.
	next       int // The number of the token that is expected.
	lost       int
	duplicated int
	events     int
	hash       hash.Hash // Of the text.
	lags       []float64 // Milliseconds from when a token was due to when it was read, if due is set.
	due        func(n int) time.Time
	line       []byte // The part of a line that has come.
	part       []byte // The part of a token that has come: an event may end inside one.
}

func newReader(first, want int) *reader {
	return &reader{next: first, want: first + want, hash: sha256.New()}
}

const (
	dataStart  = `data: {"type":"text-delta","id":"0","delta":"`
	lineBounds = '\n'
)

func (r *reader) take(b []byte, at time.Time) bool {
	for len(b) > 0 {
		line, rest, found := bytes.Cut(b, []byte{lineBounds})
		if !found {
			r.line = append(r.line, b...)
			break
		}
		if len(r.line) > 0 {
			r.line = append(r.line, line...)
			line = r.line
		}
		if text, ok := bytes.CutPrefix(line, []byte(dataStart)); ok {
			r.events++
			r.text(bytes.TrimSuffix(text, []byte(`"}`)), at)
		}
		r.line = r.line[:0]
		b = rest
	}
	return r.next >= r.want
}

func (r *reader) text(text []byte, at time.Time) {
	if len(r.part) > 0 {
		text = append(r.part, text...)
		r.part = nil
	}
	defer func() { r.part = append(r.part, text...) }()
	for ; len(text) >= tokenBytes; text = text[tokenBytes:] {
		n := readToken(text)
		if n < r.next {
			r.duplicated++
			continue
		}
		r.lost += n - r.next
		r.next = n + 1
		r.hash.Write(text[:tokenBytes])
		if r.due != nil {
			r.lags = append(r.lags, float64(at.Sub(r.due(n)))/1e6)
		}
	}
}

// wantedText returns the hash of the text of tokens first to first+n-1.
func wantedText(first, n int) string {
	h := sha256.New()
	for i := range n {
		h.Write(appendToken(nil, first+i))
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

func (r *reader) sum() string { return fmt.Sprintf("%x", r.hash.Sum(nil)) }

// tally is a sink that counts events by their line breaks and sums their bytes, at little more than the cost of reading
// them. Two watchers of one stream received the same if count and sum are the same.
type tally struct {
	head  []byte // What came before the first token.
	begun bool
	lines int
	sum   uint32
	table *crc32.Table
	full  *reader // Reads every event too, if it is set: the watcher whose text is compared with what was published.

	// reached is called with the number of whole events whenever it has grown. It reports whether to stop.
	reached func(events int) bool
}

// An event has three line breaks: of its id, its data and its end.
const eventLines = 3

func (t *tally) take(b []byte, at time.Time) bool {
	if t.full != nil {
		t.full.take(b, at)
	}
	if !t.begun {
		t.head = append(t.head, b...)
		start := bytes.Index(t.head, []byte(dataStart))
		if start < 0 {
			return false
		}
		b, t.begun, t.lines = t.head[start:], true, 1 // The id's line has gone by.
	}
	t.lines += bytes.Count(b, []byte{lineBounds})
	t.sum = crc32.Update(t.sum, t.table, b)
	return t.reached(t.lines / eventLines)
}
