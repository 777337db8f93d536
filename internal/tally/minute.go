package tally

import (
	"time"

	"github.com/go-chi/httprate"
)

// Minute counts events of all servers in windows of a minute. It implements httprate.LimitCounter.
type Minute struct {
	httprate.LimitCounter
	count *Count
}

// Minute returns the counter of a kind. The counter of a nil Tally counts on this server only.
func (t *Tally) Minute(kind string) *Minute {
	m := &Minute{LimitCounter: httprate.NewLocalLimitCounter(time.Minute)}
	// Events of other servers count in the current window of this server's clock, since the local counter forgets its
	// counts when it is given another one.
	m.count = t.Count(kind, func(key string, n int) {
		_ = m.LimitCounter.IncrementBy(key, time.Now().UTC().Truncate(time.Minute), n) // In memory: it cannot fail.
	})
	return m
}

func (m *Minute) Increment(key string, window time.Time) error { return m.IncrementBy(key, window, 1) }

func (m *Minute) IncrementBy(key string, window time.Time, n int) error {
	key = Key(key)
	m.count.Add(key, n)
	return m.LimitCounter.IncrementBy(key, window, n)
}

func (m *Minute) Get(key string, window, previous time.Time) (current, before int, err error) {
	return m.LimitCounter.Get(Key(key), window, previous)
}
