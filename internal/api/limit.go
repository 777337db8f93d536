package api

import (
	"context"
	"io"
	"net/http"
	"time"

	"github.com/go-chi/chi/v5/middleware"

	"github.com/tsumugi-ai/tsumugi/internal/api/ratelimit"
	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/identity/pool"
)

// class is the limit class of a call: its additional kinds besides a call and, with q, a search. Every authenticated
// route has a class: see routes and [Server.as].
type class struct {
	minute ratelimit.Kind // Kind counted per minute, or "".
	held   ratelimit.Kind // Kind held during the call, or "".
	recent bool           // The call needs a recent sign-in.
}

var (
	// A read or a change without cost. Signing out and stopping an answer are never refused as writes.
	reads     = class{}
	writes    = class{minute: ratelimit.KindWrite}
	mails     = class{minute: ratelimit.KindMail}
	asks      = class{minute: ratelimit.KindQuestion} // Counted by Server.ask, which parses the request's id.
	waits     = class{minute: ratelimit.KindQuestion, held: ratelimit.KindStream}
	prepares  = class{minute: ratelimit.KindWrite, held: ratelimit.KindStream}
	follows   = class{held: ratelimit.KindStream}
	uploads   = class{minute: ratelimit.KindUpload, held: ratelimit.KindTransfer}
	downloads = class{held: ratelimit.KindTransfer}
	exports   = class{minute: ratelimit.KindExport, held: ratelimit.KindTransfer}

	// Changes of sign-in, rights and tokens, and files about the members.
	secures = class{minute: ratelimit.KindWrite, recent: true}
	reports = class{held: ratelimit.KindTransfer, recent: true}
)

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

// as handles the calls of the actor set by withActor, within the limits of their class.
func (s *Server) as(c class, handle func(*call) error) http.HandlerFunc {
	return s.handle(func(w http.ResponseWriter, r *http.Request) error {
		actor, err := identity.ActorFrom(r.Context())
		if err != nil {
			return err
		}
		if err := checkScope(r, actor); err != nil {
			return err
		}
		if c.recent {
			if err := actor.RequireRecentSignIn(time.Now()); err != nil {
				return err
			}
		}
		leave, err := s.enter(r, c, actor)
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
		id, err := pathID(r)
		if err != nil {
			return err
		}
		return handle(&call{checks: checks{r: r}, w: w, actor: actor, pathID: id})
	})
}

// enter counts a call by its class and takes its slot.
func (s *Server) enter(r *http.Request, c class, actor identity.Actor) (leave func(), err error) {
	kinds := []ratelimit.Kind{ratelimit.KindCall}
	if r.Method == http.MethodGet && r.URL.RawQuery != "" && r.URL.Query().Has("q") {
		kinds = append(kinds, ratelimit.KindSearch)
	}
	if c.minute != "" && c.minute != ratelimit.KindQuestion {
		kinds = append(kinds, c.minute)
	}
	for _, kind := range kinds {
		if err := s.Limiter.Count(kind, actor); err != nil {
			return nil, err
		}
	}
	return s.occupy(c.held, actor)
}

// occupy takes a slot of an actor. If necessary it ends streams of disconnected clients first.
func (s *Server) occupy(kind ratelimit.Kind, actor identity.Actor) (leave func(), err error) {
	leave, err = s.Limiter.Hold(kind, actor)
	if err != nil && kind == ratelimit.KindStream && s.Stream.Reap() {
		return s.Limiter.Hold(kind, actor)
	}
	return leave, err
}

// limitAddress limits unauthenticated calls by client address.
func (s *Server) limitAddress(kind ratelimit.Kind) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return s.handle(func(w http.ResponseWriter, r *http.Request) error {
			if err := s.Limiter.CountAddress(kind, clientAddress(r.Context())); err != nil {
				return err
			}
			next.ServeHTTP(w, r)
			return nil
		})
	}
}

// limitPool limits user pool calls by client address. Attempts to sign in, and calls that send mail, are also limited
// by account. Calls that the pool did not execute, because it was busy or had no database, are not counted.
func (s *Server) limitPool(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		address := clientAddress(r.Context())
		err := s.Limiter.CountAddress(ratelimit.KindSignIn, address)
		kind, account := pool.AttemptOf(r)
		if err == nil && kind != pool.NoAttempt {
			var leave func()
			if leave, err = s.Limiter.AdmitGuess(r.Context(), account, address); err == nil {
				defer leave()
			}
		}
		if err != nil {
			pool.WriteBusy(w, fault.CodeOf(err) == fault.RateLimited, retryAfter(err))
			return
		}
		ww := middleware.NewWrapResponseWriter(w, r.ProtoMajor)
		next.ServeHTTP(ww, r)
		failed := ww.Status() >= http.StatusBadRequest
		if pool.Examined(ww.Status(), ww.Header()) && (kind == pool.SendsMail || kind == pool.Guess && failed) {
			s.Limiter.CountGuess(account, address)
		}
	})
}
