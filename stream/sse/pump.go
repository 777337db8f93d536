package sse

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// How streams are sent. A change of a text marks the shards of its crowd, and the workers write to the clients in those,
// without waiting for any: what a client does not take at once is left to a goroutine of its own, which ends when the client
// has caught up. A client that can only be written to by waiting, as by net/http, is lent a hand each time. Whoever writes to a
// client has claimed it by its state; those who come meanwhile leave a note and go on, so that nobody waits for anybody.

// States of a client.
const (
	idle  uint32 = iota // Nobody writes.
	busy                // Somebody writes.
	again               // Somebody writes, and has to look again for more.
	over                // The stream has ended.
)

// client is a connection, and what is sent to it. There are ten thousands of them. What every token needs stands first, in two
// lines of the processor's cache.
type client struct {
	server *Server
	watch  stream.Watch           // Belongs to whoever has claimed the client.
	last   atomic.Int64           // When something was sent last, by the server's clock.
	ending atomic.Pointer[ending] // Why the stream is to end; nil while it goes on.
	state  atomic.Uint32
	beat   atomic.Bool // A heartbeat is due.
	half   atomic.Bool // The client sends nothing more: it has closed its side of the connection, or is gone.
	fd     int32       // To write to without waiting. Belongs to whoever has claimed the client, and stays open until it is settled.
	direct bool        // It can be written to without waiting.
	greet  bool        // Belongs to whoever has claimed the client. It must still be told when to come back.
	closed bool        // The same. The last chunk of its response was written, or is about to be.
	lead   uint8       // How much earlier than others it gets its heartbeats, of 256.

	conn      outlet
	raw       syscall.RawConn // To look at a connection without waiting, where that can be.
	admission *Admission      // Nil if it needs none.
	done      func(error)     // Belongs to whoever has claimed the client.
	since     time.Duration   // The same. When what a hand is lent for was published, by the server's clock; 0 if not known.
	until     time.Duration   // By the server's clock; 0 for never.
	shard     *shard
	place     int32 // In the server's clients, guarded by its mu.
	seat      int32 // In the shard's clients, guarded by its mu.

	_ [16]byte // Clients, too, begin where a line does.
}

// response returns what net/http has lent, nil for a connection that was taken over.
func (c *client) response() *response {
	r, _ := c.conn.(*response)
	return r
}

// outlet is what a client is written to: a net.Conn or a response.
type outlet interface {
	io.Writer
	SetWriteDeadline(at time.Time) error
	Close() error
}

// ending is why a stream ends, as Delivery.Done is told.
type ending struct{ err error }

// clock returns a time by the server's clock, which nobody sets.
func (s *Server) clock(t time.Time) time.Duration { return t.Sub(s.began) }

// take sends a delivery over a connection that is ours from now on.
func (s *Server) take(conn net.Conn, d Delivery) {
	raw, fd := socket(conn)
	s.launch(&client{conn: conn, raw: raw, fd: fd, direct: raw != nil}, d)
}

// lend sends a delivery by net/http. It returns when the stream is over.
func (s *Server) lend(w http.ResponseWriter, r *http.Request, d Delivery) {
	sent := s.response(w, r)
	c := &client{conn: sent}
	s.launch(c, d)
	c.await(r.Context(), sent.over)
	if sent.panicked != nil {
		panic(sent.panicked) // As if it had been written here: the response is aborted, and whoever is around us is told.
	}
	if c.ending.Load().err != nil {
		if !sent.flushed {
			// The head at least: a client whose request is answered by nothing may make it again.
			_ = sent.SetWriteDeadline(time.Now().Add(s.cfg.WriteTimeout))
			_ = sent.flush()
		}
		panic(http.ErrAbortHandler) // A response that net/http ended well would look like a whole answer.
	}
}

// await waits until net/http's goroutine can go. It does nothing else, so that its stack stays small: to write takes more than
// net/http has used until then, and what a stack has once grown to, it keeps for as long as the stream lasts.
func (c *client) await(ctx context.Context, over <-chan struct{}) {
	for half := halfClosed(ctx); ; half = nil {
		select {
		case <-over:
			return
		case <-half:
			c.probe()
		case <-ctx.Done():
			c.cutOff(ctx.Err(), true)
			<-over
			return
		}
	}
}

// probe has a client that sends nothing more answer for itself: if it has left and not only closed its side, its system
// refuses what it is sent. Heartbeats go out at each look of the sweep from now on.
func (c *client) probe() {
	if c.half.Swap(true) {
		return
	}
	c.beat.Store(true)
	b := c.server.burst()
	defer c.server.unburst(b)
	c.pump(b, false)
}

// launch begins to send.
func (s *Server) launch(c *client, d Delivery) {
	c.server, c.admission, c.watch, c.done, c.greet, c.lead = s, d.Admission, *d.Watch, d.Done, !d.Begun, randomByte()
	c.state.Store(busy)
	c.last.Store(int64(s.clock(time.Now())))
	if !d.Until.IsZero() {
		c.until = max(s.clock(d.Until), 1)
	}
	if err := s.join(c); err != nil {
		c.end(err)
	}
	b := s.burst()
	defer s.unburst(b)
	c.work(b, true)
}

// pump writes what there is to a client, unless somebody else does so already. here says that the end of the stream, which
// may take a moment, is settled before it returns.
func (c *client) pump(b *burst, here bool) {
	for !c.state.CompareAndSwap(idle, busy) {
		state := c.state.Load()
		if state == again || state == over || state == busy && c.state.CompareAndSwap(busy, again) {
			return
		}
	}
	c.work(b, here)
}

// work writes what there is to a client that was claimed, and lets go of it.
func (c *client) work(b *burst, here bool) {
	for {
		if !c.direct && c.ending.Load() == nil {
			c.server.lendHand(c, b.since)
			return
		}
		rest := c.send(b)
		switch {
		case rest != nil:
			c.server.counters.drains.Add(1)
			c.server.pumps.Go(func() {
				b := c.server.burst()
				defer c.server.unburst(b)
				b.bufs = append(b.bufs, rest...)
				c.drain(b)
			})
			return
		case c.ending.Load() == nil:
			if c.state.CompareAndSwap(busy, idle) {
				return
			}
			c.state.Store(busy)
		case here:
			c.settle()
			return
		default:
			c.server.pumps.Go(c.settle)
			return
		}
	}
}

// send writes all that there is. It returns what the client did not take at once.
func (c *client) send(b *burst) (rest [][]byte) {
	defer b.clear()
	for c.ending.Load() == nil {
		n := b.gather(c)
		if n == 0 {
			if over, err := c.watch.Over(); over {
				c.end(err)
			}
			return nil
		}
		wrote, err := b.write(c.fd, b.bufs)
		now := time.Now()
		c.last.Store(int64(c.server.clock(now)))
		b.tally.wrote(wrote, b.since, now)
		b.since = time.Time{}
		if err != nil {
			c.end(err)
			return nil
		}
		if wrote < n {
			if wrote < len(b.bufs[0]) {
				b.bufs[0] = bytes.Clone(b.bufs[0]) // It may be the burst's own.
			}
			return remainder(b.bufs, wrote)
		}
		b.clear()
	}
	return nil
}

// end notes why the stream ends, unless that is known. Who has claimed the client settles it.
func (c *client) end(err error) {
	c.ending.CompareAndSwap(nil, &ending{err})
}

// cut implements ender.
func (c *client) cut(err error) { c.cutOff(err, false) }

// cutOff ends the stream early: now, or as soon as whoever is writing has noticed. here is as with pump.
func (c *client) cutOff(err error, here bool) {
	if !c.ending.CompareAndSwap(nil, &ending{err}) {
		return
	}
	if r := c.response(); r == nil {
		_ = c.conn.SetWriteDeadline(time.Unix(1, 0)) // Whoever waits for the client waits no longer.
	} else if c.state.Load() != idle { // One at rest has a response that can still be ended well.
		r.interrupt()
	}
	b := c.server.burst()
	defer c.server.unburst(b)
	c.pump(b, here)
}

// drain sends what the client did not take at once, and what is published meanwhile, until it has caught up. It is the
// only one to wait for a client.
func (c *client) drain(b *burst) {
	defer b.clear()
	for {
		if c.ending.Load() == nil && b.gather(c) > 0 {
			c.sendSlowly(b)
			b.clear()
			continue
		}
		if over, err := c.watch.Over(); over {
			c.end(err)
		}
		if c.ending.Load() != nil {
			c.settle()
			return
		}
		_ = c.conn.SetWriteDeadline(time.Time{})
		if c.state.CompareAndSwap(busy, idle) {
			return
		}
		c.state.Store(busy)
	}
}

// maxPiece is how much a client must take within the time for a write.
const maxPiece = 64 << 10

// sendSlowly writes what was gathered, waiting for the client.
func (c *client) sendSlowly(b *burst) {
	wrote, err := c.sendPieces(b.bufs)
	now := time.Now()
	c.last.Store(int64(c.server.clock(now)))
	b.tally.wrote(wrote, b.since, now)
	b.since = time.Time{}
	if r := c.response(); r != nil && r.late(now) && (err != nil || c.ending.Load() != nil) {
		c.ending.Store(&ending{ErrSlow}) // Whatever net/http makes of it: it ends the request's context, too.
	} else if err != nil {
		c.end(sendError(err))
	}
}

// sendPieces returns early, without an error, if the stream is to end.
func (c *client) sendPieces(pieces [][]byte) (wrote int, err error) {
	r := c.response()
	if r != nil {
		defer r.catch(&err)
	}
	for _, piece := range pieces {
		for len(piece) > 0 {
			part := piece[:min(len(piece), maxPiece)]
			piece = piece[len(part):]
			err := c.conn.SetWriteDeadline(time.Now().Add(c.server.cfg.WriteTimeout))
			if c.ending.Load() != nil {
				return wrote, nil // After the deadline was set: cut sets one that has passed.
			}
			n := 0
			if err == nil {
				n, err = c.conn.Write(part)
			}
			wrote += n
			if err != nil {
				return wrote, err
			}
		}
	}
	if r != nil {
		err = r.flush()
	}
	return wrote, err
}

// settle releases everything of a client that was claimed and whose end is known.
func (c *client) settle() {
	c.state.Store(over)
	_ = discard(c.raw) // A connection that is closed with something unread is reset, and what was sent may be lost.
	_ = c.conn.Close()
	done := c.done
	c.watch, c.done = stream.Watch{}, nil
	c.server.remove(c)
	c.server.finish(done, c.ending.Load().err)
	if r := c.response(); r != nil {
		close(r.over)
	}
}

// remainder returns what is left of pieces of which n bytes were written. They share no memory with bufs itself.
func remainder(bufs [][]byte, n int) [][]byte {
	rest := make([][]byte, 0, len(bufs))
	for _, b := range bufs {
		skip := min(n, len(b))
		n -= skip
		if skip < len(b) {
			rest = append(rest, b[skip:])
		}
	}
	return rest
}

// maxSlices and maxBurst bound what is written by one system call.
const (
	maxSlices = 16
	maxBurst  = 256 << 10
)

// burst is what one goroutine needs to write to a client.
type burst struct {
	writer
	bufs  [][]byte
	size  [10]byte  // Of a chunk, as it stands before it.
	since time.Time // When the first of it was published; zero if that is not known.
	tally tally
}

func newBurst() *burst {
	b := &burst{bufs: make([][]byte, 0, maxSlices)}
	b.init()
	return b
}

func (s *Server) burst() *burst { return s.bursts.Get().(*burst) } //nolint:forcetypeassert // The pool has nothing else.

func (s *Server) unburst(b *burst) {
	s.counters.collect(&b.tally)
	b.since = time.Time{}
	s.bursts.Put(b)
}

// clear lets go of what was written.
func (b *burst) clear() {
	clear(b.bufs)
	b.bufs = b.bufs[:0]
}

// gather takes what is to be written next to a client, and returns its length: what the client has not taken before, or
// else what is new.
func (b *burst) gather(c *client) (n int) {
	if len(b.bufs) > 0 {
		for _, piece := range b.bufs {
			n += len(piece)
		}
		return n
	}
	framed := c.response() == nil
	if framed {
		b.bufs = append(b.bufs, nil) // The chunk's size is known last.
	}
	if c.greet {
		c.greet = false
		retry := c.server.appendRetry(nil)
		b.bufs = append(b.bufs, retry)
		n += len(retry)
	}
	for len(b.bufs) < maxSlices && n < maxBurst {
		piece := c.watch.Take()
		if piece == nil {
			break
		}
		b.bufs = append(b.bufs, piece)
		n += len(piece)
	}
	if c.beat.Load() && c.beat.Swap(false) && n == 0 {
		b.tally.heartbeats++
		b.bufs = append(b.bufs, heartbeatFrame)
		n = len(heartbeatFrame)
	}
	if framed {
		n = b.frame(c, n)
	}
	return n
}

var (
	heartbeatFrame = []byte(":\n\n")

	chunkEnd  = []byte("\r\n")
	lastChunk = []byte("0\r\n\r\n")
)

// frame makes what was gathered, n bytes, a chunk of HTTP's chunked coding (RFC 9112, section 7.1), and returns its
// length. The last chunk follows once the text's end is in: a response that ends without it is an error to whoever
// reads it.
func (b *burst) frame(c *client, n int) int {
	if n == 0 {
		b.bufs = b.bufs[:0]
	} else {
		b.bufs[0] = append(strconv.AppendInt(b.size[:0], int64(n), 16), "\r\n"...)
		b.bufs = append(b.bufs, chunkEnd)
		n += len(b.bufs[0]) + len(chunkEnd)
	}
	if over, err := c.watch.Over(); over && err == nil && !c.closed {
		c.closed = true
		b.bufs = append(b.bufs, lastChunk)
		n += len(lastChunk)
	}
	return n
}
