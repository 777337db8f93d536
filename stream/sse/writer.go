package sse

import (
	"slices"
	"sync"
	"time"

	"github.com/tsumugi-ai/tsumugi/stream"
)

// group holds the subscribers of a text.
type group struct {
	text *stream.Text
	size int    // Guarded by Server.mu.
	stop func() // Unregisters changed.

	mu     sync.Mutex
	shards []*shard // Guarded by mu. Only appended to.
}

// changed queues the group's shards. The goroutine that has changed the text calls it.
func (g *group) changed() {
	now := time.Now()
	g.mu.Lock()
	shards := g.shards
	g.mu.Unlock()
	for _, sh := range shards {
		sh.queue(now)
	}
}

// shard holds the subscribers of a group that belong to one writer.
type shard struct {
	group  *group
	writer *writer
	queued bool      // Guarded by writer.mu.
	since  time.Time // Guarded by writer.mu. Time of the change for which it was queued; zero for another reason.

	mu          sync.Mutex
	subscribers []*subscriber // Guarded by mu.
}

// queue adds the shard to its writer's queue. since is the time of the text's change, or zero.
func (sh *shard) queue(since time.Time) {
	w := sh.writer
	w.mu.Lock()
	queued := sh.queued
	if !queued {
		sh.queued, sh.since = true, since
		w.queue = append(w.queue, sh)
	}
	w.mu.Unlock()
	if queued {
		return
	}
	select {
	case w.call <- struct{}{}:
	default:
	}
}

// writer is one goroutine of the writer pool. It runs while the server has subscribers.
type writer struct {
	call chan struct{} // Has capacity one.
	// Held by run, so that a subscriber never has two owners: the pool stops with its last subscriber and starts with
	// the next one, and the new run may begin before the old one has ended.
	running sync.Mutex

	mu    sync.Mutex
	queue []*shard // Guarded by mu.
}

// next returns a queued shard, or nil. Later publications queue the shard again.
func (w *writer) next() (sh *shard, since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.queue) == 0 {
		return nil, time.Time{}
	}
	sh = w.queue[0]
	w.queue[0], w.queue = nil, w.queue[1:]
	sh.queued = false
	return sh, sh.since
}

func (w *writer) run(quit <-chan struct{}) {
	w.running.Lock()
	defer w.running.Unlock()
	b := &batch{}
	for {
		select {
		case <-w.call:
		case <-quit:
			return
		}
		for sh, since := w.next(); sh != nil; sh, since = w.next() {
			each(&sh.mu, &sh.subscribers, func(c *subscriber) {
				b.since = since
				c.write(b)
			})
		}
	}
}

// join adds a subscriber to the group of its text. It fails if streams must not begin.
func (s *Server) join(c *subscriber) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(c.admission, c); err != nil {
		return err
	}
	text := c.watch.Text()
	g := s.groups[text]
	if g == nil {
		g = &group{text: text}
		g.stop = text.OnChange(g.changed)
		s.groups[text] = g
	}
	g.add(c, s.writers[s.turn%len(s.writers)])
	s.turn++
	c.place = len(s.subscribers)
	s.subscribers = append(s.subscribers, c)
	if len(s.subscribers) == 1 {
		s.start()
	} else if c.until != 0 && c.until < s.nextSweep {
		s.sweepNow()
	}
	return nil
}

// start starts the goroutines that serve subscribers. The caller holds mu.
func (s *Server) start() {
	quit := make(chan struct{})
	s.quit = quit
	for _, w := range s.writers {
		s.work.Go(func() { w.run(quit) })
	}
	s.work.Go(func() { s.sweep(quit) })
}

// add adds a subscriber to the shard of a writer. The caller holds Server.mu.
func (g *group) add(c *subscriber, w *writer) {
	g.size++
	g.mu.Lock()
	i := slices.IndexFunc(g.shards, func(sh *shard) bool { return sh.writer == w })
	if i < 0 {
		i = len(g.shards)
		g.shards = append(g.shards, &shard{group: g, writer: w})
	}
	c.shard = g.shards[i]
	g.mu.Unlock()
	c.shard.mu.Lock()
	defer c.shard.mu.Unlock()
	c.seat = len(c.shard.subscribers)
	c.shard.subscribers = append(c.shard.subscribers, c)
}

// remove removes a subscriber from the server.
func (s *Server) remove(c *subscriber) {
	s.mu.Lock()
	defer s.mu.Unlock()
	remove(&s.subscribers, c, func(c *subscriber) *int { return &c.place })
	c.admission.pause()
	sh := c.shard
	sh.mu.Lock()
	remove(&sh.subscribers, c, func(c *subscriber) *int { return &c.seat })
	sh.mu.Unlock()
	if sh.group.size--; sh.group.size == 0 {
		sh.group.stop()
		delete(s.groups, sh.group.text)
	}
	if len(s.subscribers) == 0 {
		close(s.quit)
		s.quit, s.subscribers = nil, nil
	}
	s.left()
}

// remove removes a subscriber from a list by its index, and moves the last one to its place.
func remove(list *[]*subscriber, c *subscriber, index func(*subscriber) *int) {
	i, end := *index(c), len(*list)-1
	last := (*list)[end]
	(*list)[i], (*list)[end] = last, nil
	*index(last) = i
	*list = (*list)[:end]
}

// stretch is the number of subscribers copied at a time, so that the lock is not held during writes: joining and
// leaving wait for the copy, and never for a system call.
const stretch = 64

// each calls f for every subscriber that stays in a list, which is guarded by mu, during the call. A removed subscriber
// is replaced by the last one, so iterating downwards misses none.
func each(mu *sync.Mutex, list *[]*subscriber, f func(*subscriber)) {
	var some [stretch]*subscriber
	mu.Lock()
	i := len(*list)
	for i > 0 {
		i = min(i, len(*list))
		n := copy(some[:], (*list)[max(i-stretch, 0):i])
		i -= n
		mu.Unlock()
		for _, c := range some[:n] {
			f(c)
		}
		mu.Lock()
	}
	mu.Unlock()
}
