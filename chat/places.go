package chat

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// places are what generations take to run: so many at once, as many again in order of their coming. It is safe for
// concurrent use.
type places struct {
	max             int // Running at once, and waiting at once.
	perPerson       int // Running and waiting; 0 for any number.
	perOrganization int // The same.

	mu            sync.Mutex
	running       int               // Guarded by mu.
	waiting       []*place          // Guarded by mu. First come, first served.
	people        map[uuid.UUID]use // Guarded by mu.
	organizations map[uuid.UUID]int // Guarded by mu. Running and waiting.
}

// use is what one person has.
type use struct{ running, waiting int }

// place is where one generation runs, or waits to.
type place struct {
	owner   Owner
	granted chan struct{} // Closed when it may run.
	running bool          // Guarded by the mu of places.
	left    bool          // The same. It was given back.
}

func newPlaces(cfg Config) *places {
	return &places{
		max: cfg.MaxGenerations, perPerson: cfg.MaxPerPerson, perOrganization: cfg.MaxPerOrganization,
		people: make(map[uuid.UUID]use), organizations: make(map[uuid.UUID]int),
	}
}

// take returns a place for a person's question, which may have to wait, or why there is none: one of the Refused
// constants. Nobody has more than a quarter of the places to wait.
func (p *places) take(owner Owner) (taken *place, refused string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	has := p.people[owner.UserID]
	switch {
	case p.perPerson > 0 && has.running+has.waiting >= p.perPerson:
		return nil, RefusedPerson
	case p.perOrganization > 0 && p.organizations[owner.OrganizationID] >= p.perOrganization:
		return nil, RefusedOrganization
	case p.running < p.max:
	case len(p.waiting) >= p.max:
		return nil, RefusedFull
	case has.waiting >= max(1, p.max/4):
		return nil, RefusedPerson
	}
	return p.add(owner), ""
}

// insist returns a place, whatever the limits, for a generation that was taken over: its question was let in before.
func (p *places) insist(owner Owner) *place {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.add(owner)
}

// add belongs to holders of mu.
func (p *places) add(owner Owner) *place {
	taken := &place{owner: owner, granted: make(chan struct{})}
	has := p.people[owner.UserID]
	if p.running < p.max {
		p.grant(taken)
		has.running++
	} else {
		p.waiting = append(p.waiting, taken)
		has.waiting++
	}
	p.people[owner.UserID] = has
	p.organizations[owner.OrganizationID]++
	return taken
}

// grant belongs to holders of mu.
func (p *places) grant(taken *place) {
	p.running++
	taken.running = true
	close(taken.granted)
}

// leave gives a place back, whether it was granted or not, to the one that has waited longest. It may be repeated.
func (p *places) leave(taken *place) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if taken.left {
		return
	}
	taken.left = true
	has := p.people[taken.owner.UserID]
	if taken.running {
		p.running--
		has.running--
	} else {
		p.waiting = slices.DeleteFunc(p.waiting, func(w *place) bool { return w == taken })
		has.waiting--
	}
	if p.people[taken.owner.UserID] = has; has == (use{}) {
		delete(p.people, taken.owner.UserID)
	}
	if p.organizations[taken.owner.OrganizationID]--; p.organizations[taken.owner.OrganizationID] == 0 {
		delete(p.organizations, taken.owner.OrganizationID)
	}
	for p.running < p.max && len(p.waiting) > 0 {
		next := p.waiting[0]
		p.waiting = slices.Delete(p.waiting, 0, 1)
		p.grant(next)
		has := p.people[next.owner.UserID]
		p.people[next.owner.UserID] = use{running: has.running + 1, waiting: has.waiting - 1}
	}
}

// stats returns how many run, how many wait, and how many could begin to run.
func (p *places) stats() (running, waiting, free int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running, len(p.waiting), max(0, p.max-p.running)
}

// wait returns when the place may be used, or with why the context ended.
func (p *place) wait(ctx context.Context) error {
	if p.ready() {
		return nil
	}
	select {
	case <-p.granted:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// ready says whether the place may be used.
func (p *place) ready() bool {
	select {
	case <-p.granted:
		return true
	default:
		return false
	}
}

// admit lets a person's question in, or says what to do instead.
func (s *Service) admit(owner Owner) (*place, error) {
	s.mu.Lock()
	stopping := s.stopping
	s.mu.Unlock()
	refused := RefusedStopping
	var taken *place
	if !stopping {
		if refused = RefusedMemory; s.textBytes.Load() <= s.cfg.MaxLiveText {
			taken, refused = s.places.take(owner)
		}
	}
	if refused == "" {
		return taken, nil
	}
	s.metrics.Refused(refused)
	return nil, refusal(refused)
}

// weighTexts looks how much memory the texts take that are being written, and followed. They grow slowly beside what
// they may take together, so that it is enough to look once a sweep.
func (s *Service) weighTexts() {
	hub := s.hub.Stats()
	s.textBytes.Store(int64(hub.TextBytes + hub.LogBytes))
}

// refusal is the error of a question that is turned away. Its time to come back is drawn at random, so that those who
// are turned away together do not come back together.
func refusal(reason string) error {
	err := fault.Errorf(fault.Unavailable, "ただいま混み合っています。少し時間をおいて、もう一度お試しください。")
	switch reason {
	case RefusedStopping:
		err = fault.Errorf(fault.Unavailable, "サーバーを再起動しています。少し待ってから、もう一度お試しください。")
	case RefusedPerson:
		err = fault.Errorf(fault.RateLimited, "作成中の回答が多いため、受け付けられませんでした。いずれかの回答が完了してから、もう一度お試しください。")
	case RefusedOrganization:
		err = fault.Errorf(fault.RateLimited, "組織全体で作成中の回答が多いため、受け付けられませんでした。少し待ってから、もう一度お試しください。")
	}
	err.RetryAfter = 2*time.Second + rand.N(8*time.Second) //nolint:gosec // Spreads clients; no secret.
	return err
}
