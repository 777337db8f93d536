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
	ready     uint32 = iota // The writer owns the subscriber.
	slow                    // A separate goroutine owns it and writes to it.
	slowAgain               // Like slow, and there may be new data.
	over                    // The stream has ended.
)

// subscriber is a hijacked connection with its stream.
type subscriber struct {
	server    *Server
	conn      net.Conn
	raw       syscall.RawConn // For nonblocking access; nil if unsupported.
	admission *Admission      // May be nil.
	until     time.Duration   // Time limit of the stream by the server's clock; 0 for none.
	quiet     time.Duration   // Time without data until a heartbeat is due, random to spread heartbeats.
	shard     *shard
	place     int // Index in Server.subscribers, guarded by Server.mu.
	seat      int // Index in shard.subscribers, guarded by shard.mu.

	state  atomic.Uint32
	last   atomic.Int64           // Time of the last write by the server's clock.
	ending atomic.Pointer[ending] // The reason to end; nil before that.
	beat   atomic.Bool            // A heartbeat is due.
	half   atomic.Bool            // The client has closed its sending side, or is disconnected.

	// The fields below belong to the goroutine that owns the subscriber.
	watch  stream.Watch
	done   func(error)
	greet  bool // The retry field must be sent.
	closed bool // The last data was sent, or is about to be sent.
}

// ending is the reason of a stream's end: the argument of Delivery.Done.
type ending struct {
	err     error
	settled chan struct{} // Closed when Done has returned.
}

// takeOver sends a delivery over a hijacked connection.
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

// write writes the available data. It belongs to the subscriber's writer.
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

// claim reports whether the writer may write. If a goroutine writes, claim sets slowAgain, so that the goroutine checks
// for data again before it returns the subscriber to the writer. Otherwise data published after its last check would
// wait for the next change.
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

// send writes until no data is left, and returns the data that the socket did not accept.
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

// endIfOver ends the stream if the text has ended and all of it was sent.
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

// end records the reason of the stream's end and returns true, unless a reason was recorded before.
func (c *subscriber) end(err error) bool {
	return c.ending.CompareAndSwap(nil, &ending{err, make(chan struct{})})
}

// cut implements ender. Only the owner may change the subscriber, so cut notifies the owner: its writer, or a goroutine
// in a blocked write.
func (c *subscriber) cut(err error) {
	if c.end(err) {
		_ = c.conn.SetWriteDeadline(time.Unix(1, 0)) // Interrupts the write to a slow consumer.
		c.shard.queue(time.Time{})
	}
}

// maxPiece is the amount that a slow consumer must accept within the write timeout. A deadline for a whole batch would
// disconnect a client on a slow line for being far behind, and the client would be as far behind after every resume.
const maxPiece = 64 << 10

// writeSlowly starts a goroutine that writes the data that the socket did not accept, and the data published meanwhile.
func (c *subscriber) writeSlowly(rest [][]byte, since time.Time) {
	c.state.Store(slow)
	c.server.work.Go(func() { c.drain(&batch{pieces: rest, since: since}) })
}

// drain writes with blocking until the client has caught up.
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

// writePieces writes a batch with blocking.
func (c *subscriber) writePieces(b *batch) {
	wrote := 0
	defer func() { c.wrote(b, wrote) }()
	for _, piece := range b.pieces {
		for len(piece) > 0 {
			part := piece[:min(len(piece), maxPiece)]
			err := c.conn.SetWriteDeadline(time.Now().Add(c.server.cfg.WriteTimeout))
			if c.ending.Load() != nil {
				return // Checked after setting the deadline, because cut sets one in the past.
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

// settle releases all resources of an ended subscriber. It belongs to the goroutine that owns the subscriber.
func (c *subscriber) settle() {
	c.state.Store(over)
	done, ending := c.done, c.ending.Load()
	c.server.linger(c.conn, c.raw, ending.err)
	c.watch, c.done = stream.Watch{}, nil
	c.server.remove(c)
	c.server.finish(done, ending.err)
	close(ending.settled)
}
