package sse

import (
	"bytes"
	"strconv"
	"time"
)

// maxPieces and maxBatch bound the data of one system call.
const (
	maxPieces = 16
	maxBatch  = 256 << 10
)

var (
	heartbeat = []byte(":\n\n")
	chunkEnd  = []byte("\r\n")
	lastChunk = []byte("0\r\n\r\n")
)

// batch is the next data for a subscriber. It belongs to one goroutine, which reuses it for each subscriber.
type batch struct {
	pieces [][]byte
	size   [10]byte  // The size line before a chunk.
	since  time.Time // When its first piece was published; zero if unknown.
}

func (b *batch) clear() {
	clear(b.pieces) // Releases the written pieces.
	b.pieces = b.pieces[:0]
}

// gather collects the next data for a subscriber, and returns its length: the rest that its socket did not accept
// before, or else the new events.
func (b *batch) gather(c *subscriber) (n int) {
	if len(b.pieces) > 0 {
		for _, piece := range b.pieces {
			n += len(piece)
		}
		return n
	}
	b.pieces = append(b.pieces, nil) // Reserved for the chunk's size, which is not known yet.
	add := func(piece []byte) {
		b.pieces = append(b.pieces, piece)
		n += len(piece)
	}
	if c.greet {
		c.greet = false
		add(c.server.retry())
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
	if over, err := c.watch.Over(); over && err != nil && !c.closed {
		c.closed = true
		add(c.server.retrySoon())
	}
	return b.frame(c, n)
}

// frame converts the n gathered bytes to a chunk of HTTP's chunked coding (RFC 9112, section 7.1), and returns its
// length. The last chunk is sent only after the text's end. A client treats a response without it as incomplete.
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

// rest returns the pieces without the first n bytes, which were written. It shares no memory with the batch itself.
func (b *batch) rest(n int) [][]byte {
	rest := make([][]byte, 0, len(b.pieces))
	for i, piece := range b.pieces {
		skip := min(n, len(piece))
		n -= skip
		if piece = piece[skip:]; len(piece) == 0 {
			continue
		}
		if i == 0 {
			piece = bytes.Clone(piece) // The piece is in b.size.
		}
		rest = append(rest, piece)
	}
	return rest
}
