package api

import (
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
)

// recheckTimeout is the maximum time that a slow client can delay the check of a transfer.
const recheckTimeout = 2 * time.Second

// Transfers finds the files that this server is sending to people. It is safe for concurrent use.
type Transfers struct {
	mu     sync.Mutex
	people map[uuid.UUID]map[*transfer]struct{} // Guarded by mu.
}

// NewTransfers returns a Transfers without files.
func NewTransfers() *Transfers {
	return &Transfers{people: make(map[uuid.UUID]map[*transfer]struct{})}
}

// transfer is the response with a file. After a change of the person's rights, it checks their access before it sends
// more.
type transfer struct {
	http.ResponseWriter
	check   func() error
	changed atomic.Bool
}

// begin returns the response for a file that the actor of a call may receive as long as check returns nil. It must be
// called before the first check of their access. The caller must call end.
func (t *Transfers) begin(c *call, check func(context.Context) error) (w http.ResponseWriter, end func()) {
	sending := &transfer{ResponseWriter: c.w, check: func() error {
		ctx, cancel := context.WithTimeout(c.ctx(), callTimeout)
		defer cancel()
		return check(ctx)
	}}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.people[c.actor.ID] == nil {
		t.people[c.actor.ID] = make(map[*transfer]struct{})
	}
	t.people[c.actor.ID][sending] = struct{}{}
	return sending, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.people[c.actor.ID], sending)
		if len(t.people[c.actor.ID]) == 0 {
			delete(t.people, c.actor.ID)
		}
	}
}

// recheck makes the transfers of a person check their access again.
func (t *Transfers) recheck(person uuid.UUID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for sending := range t.people[person] {
		sending.changed.Store(true)
		// A write that the client blocks fails, so that the check is not delayed.
		_ = http.NewResponseController(sending.ResponseWriter).SetWriteDeadline(time.Now().Add(recheckTimeout))
	}
}

func (s *transfer) Write(b []byte) (int, error) {
	if s.changed.Swap(false) {
		if err := s.check(); err != nil {
			return 0, err
		}
	}
	return s.ResponseWriter.Write(b)
}

// Unwrap returns the response for http.ResponseController.
func (s *transfer) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// list returns the people who are receiving files.
func (t *Transfers) list() []uuid.UUID {
	t.mu.Lock()
	defer t.mu.Unlock()
	people := make([]uuid.UUID, 0, len(t.people))
	for id := range t.people {
		people = append(people, id)
	}
	return people
}
