package chat

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/tally"
)

// slotPool limits the number of running generations, and of waiting ones, in the order of their arrival. It is safe for
// concurrent use.
type slotPool struct {
	max             int          // Limit of running generations, and also of waiting ones.
	perPerson       int          // Limit of running and waiting generations together; 0 for none.
	perOrganization int          // Like perPerson.
	servers         *tally.Level // Numbers by the id of a person or an organization. Nil for a single server.

	mu            sync.Mutex
	running       int                     // Guarded by mu.
	waiting       []*slot                 // Guarded by mu. In order of arrival.
	people        map[uuid.UUID]slotCount // Guarded by mu.
	organizations map[uuid.UUID]int       // Guarded by mu. Running and waiting.
}

// slotCount counts the generations of one person.
type slotCount struct{ running, waiting int }

// slot is the slot of one generation, which runs or waits.
type slot struct {
	owner    identity.Owner
	granted  chan struct{} // Closed when it may run.
	running  bool          // Guarded by the mu of slotPool.
	released bool          // Guarded by the mu of slotPool. The slot was released.
}

func newSlotPool(cfg Config, servers *tally.Level) *slotPool {
	return &slotPool{
		max: cfg.MaxGenerations, perPerson: cfg.MaxPerPerson, perOrganization: cfg.MaxPerOrganization, servers: servers,
		people: make(map[uuid.UUID]slotCount), organizations: make(map[uuid.UUID]int),
	}
}

// acquire returns a slot for a person's question, which may have to wait, or one of the Refused constants. A person may
// occupy at most a quarter of the queue.
func (p *slotPool) acquire(owner identity.Owner) (acquired *slot, refused string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	has := p.people[owner.UserID]
	switch {
	case p.perPerson > 0 && has.running+has.waiting+p.servers.Others(owner.UserID.String()) >= p.perPerson:
		return nil, RefusedPerson
	case p.perOrganization > 0 &&
		p.organizations[owner.OrganizationID]+p.servers.Others(owner.OrganizationID.String()) >= p.perOrganization:
		return nil, RefusedOrganization
	case p.running < p.max:
	case len(p.waiting) >= p.max:
		return nil, RefusedFull
	case has.waiting >= max(1, p.max/4):
		return nil, RefusedPerson
	}
	return p.add(owner), ""
}

// acquireUnlimited returns a slot without checking the limits. It is for a generation that was taken over, because its
// question was accepted before.
func (p *slotPool) acquireUnlimited(owner identity.Owner) *slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.add(owner)
}

// add adds a slot. The caller holds mu.
func (p *slotPool) add(owner identity.Owner) *slot {
	s := &slot{owner: owner, granted: make(chan struct{})}
	has := p.people[owner.UserID]
	if p.running < p.max {
		p.grant(s)
		has.running++
	} else {
		p.waiting = append(p.waiting, s)
		has.waiting++
	}
	p.people[owner.UserID] = has
	p.organizations[owner.OrganizationID]++
	p.report(owner)
	return s
}

// report reports the generations of a person and an organization to the other servers. The caller holds mu.
func (p *slotPool) report(owner identity.Owner) {
	has := p.people[owner.UserID]
	p.servers.Set(owner.UserID.String(), has.running+has.waiting)
	p.servers.Set(owner.OrganizationID.String(), p.organizations[owner.OrganizationID])
}

// grant lets a slot run. The caller holds mu.
func (p *slotPool) grant(s *slot) {
	p.running++
	s.running = true
	close(s.granted)
}

// release releases a slot, whether it was granted or not, and grants it to the generation that has waited longest.
// Further calls have no effect.
func (p *slotPool) release(s *slot) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s.released {
		return
	}
	s.released = true
	has := p.people[s.owner.UserID]
	if s.running {
		p.running--
		has.running--
	} else {
		p.waiting = slices.DeleteFunc(p.waiting, func(w *slot) bool { return w == s })
		has.waiting--
	}
	if p.people[s.owner.UserID] = has; has == (slotCount{}) {
		delete(p.people, s.owner.UserID)
	}
	if p.organizations[s.owner.OrganizationID]--; p.organizations[s.owner.OrganizationID] == 0 {
		delete(p.organizations, s.owner.OrganizationID)
	}
	p.report(s.owner)
	for p.running < p.max && len(p.waiting) > 0 {
		next := p.waiting[0]
		p.waiting = slices.Delete(p.waiting, 0, 1)
		p.grant(next)
		has := p.people[next.owner.UserID]
		p.people[next.owner.UserID] = slotCount{running: has.running + 1, waiting: has.waiting - 1}
	}
}

// stats returns the numbers of running generations, of waiting ones, and of free slots.
func (p *slotPool) stats() (running, waiting, free int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running, len(p.waiting), max(0, p.max-p.running)
}

// wait returns when the slot was granted, or with the cause if the context ends first.
func (s *slot) wait(ctx context.Context) error {
	if s.isGranted() {
		return nil
	}
	select {
	case <-s.granted:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// isGranted reports whether the slot was granted.
func (s *slot) isGranted() bool {
	select {
	case <-s.granted:
		return true
	default:
		return false
	}
}

// admit returns a slot for a person's question, or an error with a remedy.
func (s *Service) admit(owner identity.Owner) (*slot, error) {
	s.mu.Lock()
	stopping := s.stopping
	s.mu.Unlock()
	refused := RefusedStopping
	var taken *slot
	if !stopping {
		if refused = RefusedMemory; s.textBytes.Load() <= s.cfg.MaxLiveText {
			taken, refused = s.slots.acquire(owner)
		}
	}
	if refused == "" {
		return taken, nil
	}
	s.metrics.Refused(refused)
	return nil, refusal(refused)
}

// measureTexts measures the memory of the texts that are being generated or followed. They grow slowly compared with
// their limit, so measuring at every fourth sweep is enough.
func (s *Service) measureTexts() {
	hub := s.hub.Stats()
	s.textBytes.Store(int64(hub.TextBytes + hub.LogBytes))
}

// refusal returns the error of a refused question. Its retry time is random, so that clients refused together do not
// all return together.
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
