package api

import (
	"context"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/tally"
)

// class is the limit class of a call: its additional kinds besides a call and, with q, a search. Every authenticated
// route has a class: see routes and [Server.as].
type class struct {
	minute Kind // Kind counted per minute, or "".
	held   Kind // Kind held during the call, or "".
}

var (
	// A read or a change without cost. Signing out and stopping an answer are never refused as writes.
	reads     = class{}
	writes    = class{minute: KindWrite}
	mails     = class{minute: KindMail}
	asks      = class{minute: KindQuestion} // Counted by Server.ask, which parses the request's id.
	waits     = class{minute: KindQuestion, held: KindStream}
	prepares  = class{minute: KindWrite, held: KindStream}
	follows   = class{held: KindStream}
	uploads   = class{minute: KindUpload, held: KindTransfer}
	downloads = class{held: KindTransfer}
)

// Limiter enforces the limits of people, organizations and addresses. It is safe for concurrent use.
type Limiter struct {
	each, organization map[Kind]*limiter // Per minute: by person or address, and by organization.
	held               map[Kind]*places
	questions          questions
}

// NewLimiter returns a Limiter with all counts at zero. servers has the counts of other servers; nil for none.
func NewLimiter(limits Limits, servers *tally.Tally) *Limiter {
	l := &Limiter{
		each: make(map[Kind]*limiter), organization: make(map[Kind]*limiter), held: make(map[Kind]*places),
		questions: questions{current: make(map[question]struct{})},
	}
	for kind, limit := range limits {
		switch kind {
		case KindGeneration: // Enforced by package chat, because a generation outlives its call.
		case KindStream, KindTransfer, KindSocket:
			l.held[kind] = &places{
				kind: kind, most: limit, servers: servers.Level(string(kind)), held: make(map[uuid.UUID]int),
			}
		default:
			l.each[kind] = newLimiter(kind, "each", limit.Each, tooManyCalls, servers)
			l.organization[kind] = newLimiter(kind, "organization", limit.Organization, tooManyCallsOfAll, servers)
		}
	}
	return l
}

// count counts an actor's call or refuses it.
func (l *Limiter) count(w http.ResponseWriter, r *http.Request, kind Kind, actor identity.Actor) error {
	if err := l.each[kind].take(w, r, actor.ID.String()); err != nil {
		return err
	}
	return l.organization[kind].take(w, r, actor.OrganizationID.String())
}

// hold takes a slot, or refuses the call if none is left. leave releases the slot and may be called repeatedly.
func (l *Limiter) hold(kind Kind, actor identity.Actor) (leave func(), err error) {
	p := l.held[kind]
	if p == nil {
		return func() {}, nil
	}
	if err := p.take(actor); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { p.leave(actor) }), nil
}

// enter counts a call by its class.
func (l *Limiter) enter(w http.ResponseWriter, r *http.Request, c class, actor identity.Actor) error {
	kinds := []Kind{KindCall}
	if r.Method == http.MethodGet && r.URL.RawQuery != "" && r.URL.Query().Has("q") {
		kinds = append(kinds, KindSearch)
	}
	if c.minute != "" && c.minute != KindQuestion {
		kinds = append(kinds, c.minute)
	}
	for _, kind := range kinds {
		if err := l.count(w, r, kind, actor); err != nil {
			return err
		}
	}
	return nil
}

// countQuestion counts a question or refuses it. A question repeated by a resuming client is counted once.
func (l *Limiter) countQuestion(w http.ResponseWriter, r *http.Request, actor identity.Actor, request uuid.UUID) error {
	return l.questions.once(question{actor.ID, request}, func() error { return l.count(w, r, KindQuestion, actor) })
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

// limitError is the error of a call beyond a limit.
type limitError struct {
	error // A fault.
	kind  Kind
}

// Unwrap returns the fault.
func (l *limitError) Unwrap() error { return l.error }

// refusal returns the error of an exceeded limit. after is the time until a retry, or 0 for a random delay.
func refusal(kind Kind, detail string, after time.Duration) error {
	refused := fault.Errorf(fault.RateLimited, "%s", detail)
	refused.RetryAfter = after
	return &limitError{refused, kind}
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

// slotKey is the context key of a call's slot.
type slotKey struct{}

// slot is a call's slot. It is released when the call ends, unless an operation that outlives the call keeps it.
type slot struct {
	leave func()
	kept  bool
}

// detachSlot keeps the slot of the context's call after its handler has returned. The caller must call leave.
func detachSlot(ctx context.Context) (leave func()) {
	held, ok := ctx.Value(slotKey{}).(*slot)
	if !ok {
		return func() {}
	}
	held.kept = true
	return held.leave
}

// actorHandler handles a request of an actor.
type actorHandler func(w http.ResponseWriter, r *http.Request, actor identity.Actor) error

// as calls a handler with the actor set by withActor, within the limits of the call's class.
func (s *Server) as(c class, h actorHandler) http.HandlerFunc {
	return s.handle(func(w http.ResponseWriter, r *http.Request) error {
		actor, err := identity.ActorFrom(r.Context())
		if err != nil {
			return err
		}
		if err := checkScope(r, actor); err != nil {
			return err
		}
		leave, err := s.enter(w, r, c, actor)
		if err != nil {
			// A browser that is still sending would not read the refusal. The read deadline of the body bounds this.
			_, _ = io.Copy(io.Discard, io.LimitReader(r.Body, datasource.MaxSize))
			return err
		}
		place := &slot{leave: leave}
		defer func() {
			if !place.kept {
				leave()
			}
		}()
		if c.held != "" {
			r = r.WithContext(context.WithValue(r.Context(), slotKey{}, place))
		}
		return h(w, r, actor)
	})
}

// enter counts a call and takes its slot. If necessary it ends streams of disconnected clients first.
func (s *Server) enter(w http.ResponseWriter, r *http.Request, c class, actor identity.Actor) (leave func(),
	err error,
) {
	if err := s.Limiter.enter(w, r, c, actor); err != nil {
		return nil, err
	}
	leave, err = s.Limiter.hold(c.held, actor)
	if err != nil && c.held == KindStream && s.Stream.Reap() {
		return s.Limiter.hold(c.held, actor)
	}
	return leave, err
}

// limitAddress limits unauthenticated calls by client address.
func (s *Server) limitAddress(kind Kind) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return s.handle(func(w http.ResponseWriter, r *http.Request) error {
			if err := s.Limiter.each[kind].take(w, r, addressKey(r)); err != nil {
				return err
			}
			next.ServeHTTP(w, r)
			return nil
		})
	}
}
