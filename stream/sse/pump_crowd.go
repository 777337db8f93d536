package sse

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// How clients learn that there is more: a crowd for each text, split into a shard for each worker.

// crowd is the clients of a text. It is told of the text's changes.
type crowd struct {
	server *Server
	text   *stream.Text
	size   int                      // Guarded by the server's mu.
	told   stream.Waker             // Guarded by the server's mu. Whom the text tells of changes: the one client there is, or else the crowd.
	shards atomic.Pointer[[]*shard] // Replaced by holders of the server's mu and never changed.
}

// calm is how long nothing was sent to a lone client that is written to by the publisher. What comes faster gathers while
// the worker writes, and costs fewer writes.
const calm = time.Millisecond

// wake implements stream.Waker for a client that is the only one of its text. It is written to, or lent a hand, here and now, which saves
// a hop between goroutines.
func (c *client) Wake() {
	now := time.Now()
	if c.direct && c.server.clock(now)-time.Duration(c.last.Load()) <= calm {
		c.shard.mark(now)
		return
	}
	b := c.server.burst()
	b.since = now
	c.pump(b, false)
	c.server.unburst(b)
}

// wake implements stream.Waker.
func (cr *crowd) Wake() {
	now := time.Now()
	for _, sh := range *cr.shards.Load() {
		sh.mark(now)
	}
}

// tell has the text tell somebody else from now on, or nobody. It belongs to holders of the server's mu.
func (cr *crowd) tell(w stream.Waker) {
	cr.text.ChangeWaker(cr.told, w)
	cr.told = w
}

// shard is those clients of a crowd that one worker writes to.
type shard struct {
	crowd  *crowd
	worker *worker
	dirty  atomic.Bool // It stands in the worker's queue.
	since  time.Time   // When it was marked. Written by who has set dirty, read before it is cleared.

	mu      sync.Mutex
	clients []*client // Guarded by mu.
}

// mark has the worker look at the shard, unless it is going to anyway.
func (sh *shard) mark(now time.Time) {
	if sh.dirty.Load() || !sh.dirty.CompareAndSwap(false, true) {
		return
	}
	sh.since = now
	w := sh.worker
	w.mu.Lock()
	w.queue = append(w.queue, sh)
	w.mu.Unlock()
	select {
	case w.call <- struct{}{}:
	default:
	}
}

// chunk is how many clients are looked at between two moments in which others may come and go.
const chunk = 64

// eachOf calls f with every client that stays in a list, guarded by mu, while it runs. A client that leaves is replaced by
// the last one: going down, none is missed.
func eachOf(mu *sync.Mutex, list *[]*client, f func(*client)) {
	var some [chunk]*client
	mu.Lock()
	i := len(*list)
	for i > 0 {
		i = min(i, len(*list))
		n := copy(some[:], (*list)[max(i-chunk, 0):i])
		i -= n
		mu.Unlock()
		for _, c := range some[:n] {
			f(c)
		}
		mu.Lock()
	}
	mu.Unlock()
}

// worker writes to the clients of its shards. It runs while the server has clients.
type worker struct {
	server *Server
	call   chan struct{} // Has room for one.

	mu    sync.Mutex
	queue []*shard // Guarded by mu.
}

func (w *worker) run(quit <-chan struct{}) {
	b := w.server.burst()
	defer w.server.unburst(b)
	var queue []*shard
	for {
		select {
		case <-w.call:
		case <-quit:
			return
		}
		w.mu.Lock()
		queue, w.queue = w.queue, queue[:0]
		w.mu.Unlock()
		for i, sh := range queue {
			queue[i] = nil
			since := sh.since
			sh.dirty.Store(false) // Before the clients are looked at: what is published now is seen, or marks it again.
			eachOf(&sh.mu, &sh.clients, func(c *client) {
				b.since = since
				c.pump(b, false)
			})
			w.server.counters.collect(&b.tally)
		}
	}
}

// join makes a client one of the text's crowd. It fails if it is too late to begin.
func (s *Server) join(c *client) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(c.admission, c); err != nil {
		return err
	}
	text := c.watch.Text()
	cr := s.crowds[text]
	if cr == nil {
		cr = &crowd{server: s, text: text}
		cr.shards.Store(new([]*shard))
		s.crowds[text] = cr
	}
	cr.add(c)
	c.place = int32(len(s.clients)) //nolint:gosec // A process has fewer descriptors.
	s.clients = append(s.clients, c)
	if c.response() != nil {
		s.lent++
	}
	if len(s.clients) == 1 {
		s.start()
	} else if c.until != 0 && c.until < s.nextLook {
		s.look()
	}
	return nil
}

// start starts the goroutines that serve the clients. It belongs to holders of mu.
func (s *Server) start() {
	quit := make(chan struct{})
	s.quit = quit
	s.crew.open()
	for _, w := range s.workers {
		s.pumps.Go(func() { w.run(quit) })
	}
	s.pumps.Go(func() { s.sweep(quit) })
}

// add belongs to holders of the server's mu.
func (cr *crowd) add(c *client) {
	s := cr.server
	w := s.workers[s.turn%len(s.workers)]
	s.turn++
	shards := *cr.shards.Load()
	i := slices.IndexFunc(shards, func(sh *shard) bool { return sh.worker == w })
	if i < 0 {
		i = len(shards)
		shards = append(slices.Clone(shards), &shard{crowd: cr, worker: w})
		cr.shards.Store(&shards)
	}
	c.shard = shards[i]
	c.shard.mu.Lock()
	c.seat = int32(len(c.shard.clients)) //nolint:gosec // A process has fewer descriptors.
	c.shard.clients = append(c.shard.clients, c)
	c.shard.mu.Unlock()
	cr.size++
	switch cr.size {
	case 1:
		cr.tell(c)
	case 2:
		cr.tell(cr)
	}
}

// remove forgets a client that is over. One that never joined is not known.
func (s *Server) remove(c *client) {
	if c.shard == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	leave(&s.clients, c, func(c *client) *int32 { return &c.place })
	if c.response() != nil {
		s.lent--
	}
	c.admission.pause()
	cr := c.shard.crowd
	cr.remove(c)
	if cr.size == 0 {
		delete(s.crowds, cr.text)
	}
	if len(s.clients) == 0 {
		close(s.quit)
		s.quit, s.clients = nil, nil
		s.crew.close()
	}
	s.left()
}

// remove belongs to holders of the server's mu.
func (cr *crowd) remove(c *client) {
	c.shard.mu.Lock()
	leave(&c.shard.clients, c, func(c *client) *int32 { return &c.seat })
	c.shard.mu.Unlock()
	cr.size--
	switch cr.size {
	case 0:
		cr.tell(nil)
	case 1:
		for _, sh := range *cr.shards.Load() {
			sh.mu.Lock()
			left := slices.Clone(sh.clients)
			sh.mu.Unlock()
			if len(left) == 1 {
				cr.tell(left[0])
			}
		}
	}
}

// leave takes a client out of a list in which it knows its index, by putting the last one in its place.
func leave(list *[]*client, c *client, index func(*client) *int32) {
	i, end := int(*index(c)), len(*list)-1
	last := (*list)[end]
	(*list)[i], (*list)[end] = last, nil
	*index(last) = int32(i) //nolint:gosec // As above.
	*list = (*list)[:end]
}
