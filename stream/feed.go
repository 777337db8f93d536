package stream

import (
	"context"
	"errors"
	"sync"
)

// feedQueue is the maximum number of undelivered events of a subscription.
const feedQueue = 256

// Feed distributes small events by topic to the current subscribers of the topic, on this server and on those connected
// by its Transport. It stores nothing: after subscribing, and after ErrMissed, a subscriber reads the state itself. A
// Feed is safe for concurrent use.
type Feed struct {
	transport Transport

	mu     sync.Mutex
	topics map[string]map[*Subscription]struct{} // Guarded by mu.
	stop   func()                                // Guarded by mu. Ends the subscription to other servers.
}

// NewFeed returns a feed. transport is nil for a single server.
func NewFeed(transport Transport) (*Feed, error) {
	f := &Feed{transport: transport, topics: make(map[string]map[*Subscription]struct{})}
	if transport == nil {
		return f, nil
	}
	stop, err := transport.Subscribe(f.deliver, f.MarkMissed)
	f.stop = stop
	return f, err
}

// Close ends the subscription to other servers.
func (f *Feed) Close() {
	f.mu.Lock()
	stop := f.stop
	f.stop = nil
	f.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// HasSubscribers reports whether a topic may have subscribers. If not, the caller need not create its events.
func (f *Feed) HasSubscribers(topic string) bool {
	if f.transport != nil {
		return true
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.topics[topic]) > 0
}

// Publish sends an event to every subscriber of a topic. It never blocks. The event must not be changed afterwards.
func (f *Feed) Publish(topic string, event []byte) {
	f.deliver(topic, event)
	if f.transport != nil {
		f.transport.Publish(topic, event)
	}
}

func (f *Feed) deliver(topic string, event []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for s := range f.topics[topic] {
		s.put(event)
	}
}

// PublishLocal publishes an event to the subscribers of this server only. It is for events that every server publishes
// itself.
func (f *Feed) PublishLocal(topic string, event []byte) { f.deliver(topic, event) }

// MarkMissed makes every subscription of this server return ErrMissed.
func (f *Feed) MarkMissed() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for topic, subscribers := range f.topics {
		for s := range subscribers {
			if topic == s.topics[0] { // Once for each subscription.
				s.put(nil)
			}
		}
	}
}

// Subscriptions returns the number of subscriptions on this server.
func (f *Feed) Subscriptions() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for topic, subscribers := range f.topics {
		for s := range subscribers {
			if topic == s.topics[0] {
				n++
			}
		}
	}
	return n
}

// Subscription receives the events of its topics. Next belongs to one goroutine.
type Subscription struct {
	feed   *Feed
	topics []string
	queue  chan []byte   // A nil element means that events were missed.
	slow   chan struct{} // Closed when the queue is full.
	once   sync.Once
}

// Errors of Next.
var (
	ErrMissed  = errors.New("stream: events may have been missed")
	ErrTooSlow = errors.New("stream: the subscriber is too slow")
)

// Subscribe begins to receive the events of some topics, in order of arrival. The caller must call Leave.
func (f *Feed) Subscribe(topics ...string) *Subscription {
	s := &Subscription{feed: f, topics: topics, queue: make(chan []byte, feedQueue), slow: make(chan struct{})}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, topic := range topics {
		if f.topics[topic] == nil {
			f.topics[topic] = make(map[*Subscription]struct{})
		}
		f.topics[topic][s] = struct{}{}
	}
	return s
}

// put queues an event. The caller holds the feed's mu.
func (s *Subscription) put(event []byte) {
	select {
	case s.queue <- event:
	default:
		s.once.Do(func() { close(s.slow) })
	}
}

// Next waits for the next event. ErrMissed means that events may be missing; the following calls continue with later
// events. ErrTooSlow and the context's error are final.
func (s *Subscription) Next(ctx context.Context) ([]byte, error) {
	select {
	case <-s.slow:
		return nil, ErrTooSlow
	default:
	}
	select {
	case event := <-s.queue:
		if event == nil {
			return nil, ErrMissed
		}
		return event, nil
	case <-s.slow:
		return nil, ErrTooSlow
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Leave ends the subscription.
func (s *Subscription) Leave() {
	f := s.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, topic := range s.topics {
		delete(f.topics[topic], s)
		if len(f.topics[topic]) == 0 {
			delete(f.topics, topic)
		}
	}
}
