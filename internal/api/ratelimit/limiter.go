// Package ratelimit limits calls by person, organization and address: their number per minute, and how many are made
// at the same time. Package api decides which calls count. It imports fault, identity and tally.
package ratelimit

import (
	"net/netip"
	"sync"
	"time"

	"github.com/go-chi/httprate"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/tally"
)

// Limiter enforces the limits of people, organizations and addresses. It is safe for concurrent use.
type Limiter struct {
	each, organization map[Kind]*rate // By person or address, and by organization.
	held               map[Kind]*places
	questions          questions
	guesses            turns
}

// New returns a Limiter with all counts at zero. servers has the counts of other servers; nil for none.
func New(limits Limits, servers *tally.Tally) *Limiter {
	l := &Limiter{
		each: make(map[Kind]*rate), organization: make(map[Kind]*rate), held: make(map[Kind]*places),
		questions: questions{current: make(map[question]struct{})},
		guesses:   turns{lines: make(map[string]*line)},
	}
	for kind, limit := range limits {
		switch kind {
		case KindGeneration: // Enforced by package chat, because a generation outlives its call.
		case KindStream, KindTransfer, KindSocket:
			l.held[kind] = &places{
				kind: kind, most: limit, servers: servers.Level(string(kind)), held: make(map[uuid.UUID]int),
			}
		default:
			l.each[kind] = newRate(kind, "each", limit.Each, tooManyCalls, servers)
			l.organization[kind] = newRate(kind, "organization", limit.Organization, tooManyCallsOfAll, servers)
		}
	}
	return l
}

// Count counts an actor's call or refuses it.
func (l *Limiter) Count(kind Kind, actor identity.Actor) error {
	if err := l.each[kind].take(actor.ID.String()); err != nil {
		return err
	}
	return l.organization[kind].take(actor.OrganizationID.String())
}

// CountTool counts a call of a tool in an answer to a person, or refuses it.
func (l *Limiter) CountTool(owner identity.Owner, tool string) error {
	person, organization := owner.UserID.String(), owner.OrganizationID.String()
	for _, count := range []struct {
		rate *rate
		key  string
	}{
		{l.each[KindOneTool], person + " " + tool},
		{l.organization[KindOneTool], organization + " " + tool},
		{l.each[KindTool], person},
		{l.organization[KindTool], organization},
	} {
		if err := count.rate.take(count.key); err != nil {
			return err
		}
	}
	return nil
}

// CountQuestion counts a question or refuses it. A question repeated by a resuming client is counted once.
func (l *Limiter) CountQuestion(actor identity.Actor, request uuid.UUID) error {
	return l.questions.once(question{actor.ID, request}, func() error { return l.Count(KindQuestion, actor) })
}

// CountAddress counts a call from an address or refuses it.
func (l *Limiter) CountAddress(kind Kind, address netip.Addr) error {
	return l.each[kind].take(addressKey(address))
}

// addressKey returns the key for limits by address: an IPv4 address, or an IPv6 /64, which a provider assigns to one
// customer.
func addressKey(address netip.Addr) string { return httprate.CanonicalizeIP(address.String()) }

// Hold takes a slot, or refuses the call if none is left. leave releases the slot and may be called repeatedly.
func (l *Limiter) Hold(kind Kind, actor identity.Actor) (leave func(), err error) {
	p := l.held[kind]
	if p == nil {
		return func() {}, nil
	}
	if err := p.take(actor); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { p.leave(actor) }), nil
}

// Error is the error of a call beyond a limit.
type Error struct {
	Kind Kind

	fault *fault.Error
}

func (e *Error) Error() string { return e.fault.Error() }

// Unwrap returns the fault, which has the code fault.RateLimited.
func (e *Error) Unwrap() error { return e.fault }

// refusal returns the error of an exceeded limit. after is the time until a retry, or 0 for a random delay.
func refusal(kind Kind, detail string, after time.Duration) error {
	refused := fault.Errorf(fault.RateLimited, "%s", detail)
	refused.RetryAfter = after
	return &Error{kind, refused}
}

// Messages for people whose call was refused.
const (
	tooManyCalls      = "操作の回数が多すぎます。%.0f秒ほど待ってから、もう一度お試しください。"
	tooManyCallsOfAll = "組織全体での操作の回数が多すぎます。%.0f秒ほど待ってから、もう一度お試しください。"
	tooManyHeldByAll  = "組織全体で同時に利用できる数の上限に達しています。少し時間をおいて、もう一度お試しください。"
)

var tooManyHeld = map[Kind]string{
	KindStream:   "同時に開ける回答の数が上限に達しています。使っていないタブを閉じてから、もう一度お試しください。",
	KindTransfer: "同時に送受信できるファイルの数が上限に達しています。ほかのファイルが終わってから、もう一度お試しください。",
	KindSocket:   "同時に開けるタブの数が上限に達しています。使っていないタブを閉じてください。",
}

// places counts the concurrent calls of a kind by person and organization.
type places struct {
	kind    Kind
	most    Allowance
	servers *tally.Level // The calls on other servers.

	mu   sync.Mutex
	held map[uuid.UUID]int // Guarded by mu. By person and by organization.
}

// full reports whether a person or an organization has most calls. The caller holds mu.
func (p *places) full(id uuid.UUID, most int) bool {
	return most > 0 && p.held[id]+p.servers.Others(id.String()) >= most
}

// add changes the calls of a person and an organization. The caller holds mu.
func (p *places) add(actor identity.Actor, n int) {
	for _, id := range []uuid.UUID{actor.ID, actor.OrganizationID} {
		p.held[id] += n
		p.servers.Set(id.String(), p.held[id])
		if p.held[id] == 0 {
			delete(p.held, id)
		}
	}
}

func (p *places) take(actor identity.Actor) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.full(actor.ID, p.most.Each):
		return refusal(p.kind, tooManyHeld[p.kind], 0)
	case p.full(actor.OrganizationID, p.most.Organization):
		return refusal(p.kind, tooManyHeldByAll, 0)
	}
	p.add(actor, 1)
	return nil
}

func (p *places) leave(actor identity.Actor) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.add(actor, -1)
}

// questions holds the questions counted in the current minute and the previous one.
type questions struct {
	mu      sync.Mutex
	minute  time.Time             // Guarded by mu. Start of the current minute.
	current map[question]struct{} // Guarded by mu. Questions of the current minute.
	before  map[question]struct{} // Guarded by mu. Questions of the previous minute.
}

type question struct{ person, request uuid.UUID }

// once calls count unless the question was counted before.
func (q *questions) once(asked question, count func() error) error {
	minute := time.Now().Truncate(window)
	q.mu.Lock()
	defer q.mu.Unlock()
	switch q.minute {
	case minute:
	case minute.Add(-window):
		q.minute, q.before, q.current = minute, q.current, make(map[question]struct{})
	default:
		q.minute, q.before, q.current = minute, nil, make(map[question]struct{})
	}
	_, now := q.current[asked]
	_, before := q.before[asked]
	if !now && !before {
		if err := count(); err != nil {
			return err
		}
	}
	q.current[asked] = struct{}{}
	return nil
}
