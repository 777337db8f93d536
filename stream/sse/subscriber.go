package sse

import (
	"net"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// States of a subscriber.
const (
	ready     uint32 = iota // Its writer owns it.
	slow                    // A goroutine of its own writes to it.
	slowAgain               // The same, and there may be more for it.
	over                    // The stream has ended.
)

// subscriber is a connection that was taken over, and what is sent over it.
type subscriber struct {
	server    *Server
	conn      net.Conn
	raw       syscall.RawConn // Writes and reads without waiting; nil where that cannot be.
	admission *Admission      // Nil if it needs none.
	until     time.Duration   // When the stream ends at the latest, by the server's clock; 0 for never.
	quiet     time.Duration   // The silence after which a heartbeat is due, drawn at random to spread them.
	shard     *shard
	place     int // In Server.subscribers, guarded by Server.mu.
	seat      int // In shard.subscribers, guarded by shard.mu.

	state  atomic.Uint32
	last   atomic.Int64           // When something was sent last, by the server's clock.
	ending atomic.Pointer[ending] // Why the stream is to end; nil while it goes on.
	beat   atomic.Bool            // A heartbeat is due.
	half   atomic.Bool            // The client has closed its side of the connection, or is gone.

	// These belong to the goroutine that owns the subscriber.
	watch  stream.Watch
	done   func(error)
	greet  bool // The retry field was not sent yet.
	closed bool // The last chunk was sent, or is about to be.
}

// ending is why a stream ends: the argument of Delivery.Done.
type ending struct {
	err     error
	settled chan struct{} // Closed when Done has returned.
}

// takeOver sends a delivery over a connection that net/http has given up.
func (s *Server) takeOver(conn net.Conn, d Delivery) {
	c := &subscriber{
		server: s, conn: conn, raw: rawConn(conn), admission: d.Admission, quiet: s.randomQuiet(),
		watch: *d.Watch, done: d.Done, greet: !d.Begun,
	}
	c.last.Store(int64(s.clock(time.Now())))
	if !d.Until.IsZero() {
		c.until = max(s.clock(d.Until), 1)
	}
	if err := s.join(c); err != nil {
		_ = conn.Close()
		s.finish(d.Done, err)
		return
	}
	c.shard.queue(time.Time{})
}

// write writes what there is. It belongs to the subscriber's writer.
func (c *subscriber) write(b *batch) {
	if !c.claim() {
		return
	}
	if c.raw == nil {
		c.writeSlowly(nil, b.since)
		return
	}
	rest := c.send(b)
	switch {
	case c.ending.Load() != nil:
		c.state.Store(over)
		c.server.work.Go(c.settle)
	case rest != nil:
		c.server.counters.drains.Add(1)
		c.writeSlowly(rest, b.since)
	}
}

// claim reports whether the writer may write. If a goroutine does, slowAgain makes it look once more before it gives
// the subscriber back: what was published after its last look would otherwise wait for the next change.
func (c *subscriber) claim() bool {
	for {
		switch c.state.Load() {
		case ready:
			return true
		case slow:
			if c.state.CompareAndSwap(slow, slowAgain) {
				return false
			}
		default:
			return false
		}
	}
}

// send writes until there is nothing left, and returns what the socket did not take.
func (c *subscriber) send(b *batch) (rest [][]byte) {
	defer b.clear()
	for c.ending.Load() == nil {
		n := b.gather(c)
		if n == 0 {
			c.endIfOver()
			return nil
		}
		wrote, err := writeNow(c.raw, b.pieces)
		c.wrote(b, wrote)
		if err != nil {
			c.end(err)
			return nil
		}
		if wrote < n {
			return b.rest(wrote)
		}
		b.clear()
	}
	return nil
}

// endIfOver ends the stream if the text is over and all of it was sent.
func (c *subscriber) endIfOver() {
	if over, err := c.watch.Over(); over {
		c.end(err)
	}
}

// wrote counts a write that has just ended.
func (c *subscriber) wrote(b *batch, n int) {
	now := time.Now()
	c.last.Store(int64(c.server.clock(now)))
	c.server.counters.wrote(n, b.since, now)
	b.since = time.Time{}
}

// end notes why the stream ends, unless it ends already.
func (c *subscriber) end(err error) bool {
	return c.ending.CompareAndSwap(nil, &ending{err, make(chan struct{})})
}

// cut implements ender. It ends nothing itself, because only the owner may touch the subscriber: it wakes the owner,
// whether that is its writer or a goroutine in a blocked write.
func (c *subscriber) cut(err error) {
	if c.end(err) {
		_ = c.conn.SetWriteDeadline(time.Unix(1, 0)) // Interrupts the write to a slow consumer.
		c.shard.queue(time.Time{})
	}
}

// maxPiece is how much a slow consumer must take within the write timeout. With a deadline for a whole batch, a client
// on a slow but working line would be dropped for being far behind, and would be as far behind after every resume.
const maxPiece = 64 << 10

// writeSlowly has a goroutine write what the socket did not take, and what is published meanwhile.
func (c *subscriber) writeSlowly(rest [][]byte, since time.Time) {
	c.state.Store(slow)
	c.server.work.Go(func() { c.drain(&batch{pieces: rest, since: since}) })
}

// drain writes, waiting for the client, until it has caught up.
func (c *subscriber) drain(b *batch) {
	for {
		for c.ending.Load() == nil && b.gather(c) > 0 {
			c.writePieces(b)
			b.clear()
		}
		if c.ending.Load() == nil {
			c.endIfOver()
		}
		if c.ending.Load() != nil {
			c.settle()
			return
		}
		_ = c.conn.SetWriteDeadline(time.Time{})
		if c.state.CompareAndSwap(slow, ready) {
			return
		}
		c.state.Store(slow)
	}
}

// writePieces writes a batch, waiting for the client.
func (c *subscriber) writePieces(b *batch) {
	wrote := 0
	defer func() { c.wrote(b, wrote) }()
	for _, piece := range b.pieces {
		for len(piece) > 0 {
			part := piece[:min(len(piece), maxPiece)]
			err := c.conn.SetWriteDeadline(time.Now().Add(c.server.cfg.WriteTimeout))
			if c.ending.Load() != nil {
				return // Looked at after the deadline was set: cut sets one that has passed.
			}
			n := 0
			if err == nil {
				n, err = c.conn.Write(part)
			}
			wrote += n
			if err != nil {
				c.end(sendError(err))
				return
			}
			piece = piece[n:]
		}
	}
}

// settle releases everything of a subscriber whose end is known. It belongs to the goroutine that owns it.
func (c *subscriber) settle() {
	c.state.Store(over)
	done, ending := c.done, c.ending.Load()
	c.server.linger(c.conn, c.raw, ending.err)
	c.watch, c.done = stream.Watch{}, nil
	c.server.remove(c)
	c.server.finish(done, ending.err)
	close(ending.settled)
}
