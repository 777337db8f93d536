package sse

import (
	"bytes"
	"strconv"
	"time"
)

// maxPieces and maxBatch bound what one system call writes.
const (
	maxPieces = 16
	maxBatch  = 256 << 10
)

var (
	heartbeat = []byte(":\n\n")
	chunkEnd  = []byte("\r\n")
	lastChunk = []byte("0\r\n\r\n")
)

// batch is what is written to a subscriber next. It belongs to one goroutine, which uses it for one after the other.
type batch struct {
	pieces [][]byte
	size   [10]byte  // Of the chunk, as it stands before it.
	since  time.Time // When the first of it was published; zero if that is not known.
}

func (b *batch) clear() {
	clear(b.pieces) // What was written is not kept alive.
	b.pieces = b.pieces[:0]
}

// gather takes what is to be written next to a subscriber, and returns its length: what its socket did not take before,
// or else what is new.
func (b *batch) gather(c *subscriber) (n int) {
	if len(b.pieces) > 0 {
		for _, piece := range b.pieces {
			n += len(piece)
		}
		return n
	}
	b.pieces = append(b.pieces, nil) // The chunk's size is known last.
	add := func(piece []byte) {
		b.pieces = append(b.pieces, piece)
		n += len(piece)
	}
	if c.greet {
		c.greet = false
		add(c.server.appendRetry(nil))
	}
	for len(b.pieces) < maxPieces && n < maxBatch {
		piece := c.watch.Take()
		if piece == nil {
			break
		}
		add(piece)
	}
	if c.beat.Swap(false) && n == 0 {
		c.server.counters.heartbeats.Add(1)
		add(heartbeat)
	}
	return b.frame(c, n)
}

// frame makes what was gathered, n bytes, a chunk of HTTP's chunked coding (RFC 9112, section 7.1), and returns its
// length. The last chunk follows the text's end only: a client takes a response that ends without it for cut off.
func (b *batch) frame(c *subscriber, n int) int {
	if n == 0 {
		b.pieces = b.pieces[:0]
	} else {
		b.pieces[0] = append(strconv.AppendInt(b.size[:0], int64(n), 16), chunkEnd...)
		b.pieces = append(b.pieces, chunkEnd)
		n += len(b.pieces[0]) + len(chunkEnd)
	}
	if over, err := c.watch.Over(); over && err == nil && !c.closed {
		c.closed = true
		b.pieces = append(b.pieces, lastChunk)
		n += len(lastChunk)
	}
	return n
}

// rest returns what is left of the pieces of which n bytes were written. It shares no memory with the batch itself.
func (b *batch) rest(n int) [][]byte {
	rest := make([][]byte, 0, len(b.pieces))
	for i, piece := range b.pieces {
		skip := min(n, len(piece))
		n -= skip
		if piece = piece[skip:]; len(piece) == 0 {
			continue
		}
		if i == 0 {
			piece = bytes.Clone(piece) // It stands in b.size.
		}
		rest = append(rest, piece)
	}
	return rest
}
