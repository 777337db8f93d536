package api

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/google/uuid"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
)

// endJitter spreads the ends of streams whose tokens expire at the same time.
const endJitter = time.Minute

func (s *Server) streamMessage(c *call) error {
	return s.streamExchange(c, func() (chat.Exchange, error) { return s.ask(c) })
}

// streamExchange asks a question by ask, and streams the answer.
func (s *Server) streamExchange(c *call, ask func() (chat.Exchange, error)) error {
	// Before the question is stored, because the question of a refused client must not be asked.
	admission, err := s.admit(c.ctx(), c.actor)
	if err != nil {
		return err
	}
	asked := false
	defer func() {
		if !asked {
			admission.Release()
		}
	}()
	exchange, err := ask()
	if err != nil {
		return err
	}
	if exchange.Waits() {
		waiting := waitingReply(exchange)
		return writeJSON(c.w, waiting.status, waiting.record)
	}
	asked = true
	owner := c.actor.Owner()
	return s.follow(c.w, c.r, followRequest{
		actor: c.actor, messageID: exchange.Answer.ID, admission: admission,
		attach: func(ctx context.Context) (chat.Attachment, error) {
			return s.Chat.Follow(ctx, owner, exchange.Answer)
		},
	})
}

func (s *Server) attachMessage(c *call) error { return s.attach(c, c.pathID) }

func (s *Server) attachThread(c *call) error {
	answer, err := s.Chat.FindAttachable(c.ctx(), c.actor.Owner(), c.pathID, c.r.Header.Get("Last-Event-ID"))
	if err != nil {
		return err
	}
	if answer == nil {
		return writeNoContent(c.w)
	}
	return s.attach(c, answer.ID)
}

// attach attaches a client to an answer by its id.
func (s *Server) attach(c *call, id uuid.UUID) error {
	admission, err := s.admit(c.ctx(), c.actor)
	if err != nil {
		return err
	}
	owner := c.actor.Owner()
	return s.follow(c.w, c.r, followRequest{
		actor: c.actor, messageID: id, admission: admission, watching: true,
		attach: func(ctx context.Context) (chat.Attachment, error) { return s.Chat.Attach(ctx, owner, id) },
	})
}

// followRequest is a client's request to follow an answer.
type followRequest struct {
	actor     identity.Actor
	messageID uuid.UUID
	admission *sse.Admission
	watching  bool // The client has not asked here; the status is 204 if it has the whole answer.
	attach    func(ctx context.Context) (chat.Attachment, error)
}

// follow streams an answer from the client's cursor: the live text, the stored text or, while no server writes it,
// heartbeats until one does. The status is 204 for a client that only watches and has the whole answer.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, f followRequest) error {
	until := streamDeadline(f.actor.ExpiresAt)
	ctx, cancel := context.WithDeadline(r.Context(), until)
	defer cancel()
	cursor := r.Header.Get("Last-Event-ID")
	leave, served := func() {}, false
	defer func() { // A hijacked stream ends later; every other stream ends here, even after a panic.
		if !served {
			leave()
			f.admission.Release()
		}
	}()
	for begun := false; ; {
		found, err := within(ctx, f.attach)
		// Called after attaching again: when the last watcher leaves, the server stops following another server's text.
		leave()
		if err != nil {
			if begun {
				// The header was sent. A stream that ends without [DONE] makes the client reconnect.
				panic(http.ErrAbortHandler)
			}
			return err
		}
		leave = found.Leave
		if f.watching && !begun && found.Text != nil && found.Text.AtEnd(cursor) {
			return writeNoContent(w)
		}
		if r.Method == http.MethodHead {
			return s.Stream.Begin(w, r) // net/http omits the body.
		}
		if found.Text != nil && !reach(ctx, found.Text, cursor) {
			continue
		}
		if found.Text != nil {
			// The stream may last an hour, so its end callback refers only to these parts of the request.
			leave, admission, end, leavePlace := found.Leave, f.admission, s.streamEnd(r.Context(), f.messageID),
				detachSlot(r.Context())
			s.Stream.Serve(w, r, sse.Delivery{
				Watch: found.Text.Watch(cursor), Admission: admission, Until: until, Begun: begun,
				Done: func(err error) {
					leave()
					admission.Release()
					leavePlace()
					end(err)
				},
			})
			served = true
			return nil
		}
		if err = s.hold(ctx, w, r, f.admission, found, begun); err != nil {
			if r.Context().Err() == nil {
				s.streamEnd(r.Context(), f.messageID)(err)
			}
			panic(http.ErrAbortHandler)
		}
		begun = true
	}
}

// admit admits a stream of the actor.
func (s *Server) admit(ctx context.Context, actor identity.Actor) (*sse.Admission, error) {
	admission, err := s.Stream.Admit(actor.ID.String())
	switch {
	case errors.Is(err, sse.ErrDraining):
		return nil, fault.Wrap(err, fault.Unavailable, "サーバーを再起動しています。少し時間をおいて、もう一度お試しください。")
	case errors.Is(err, sse.ErrFull):
		return nil, fault.Wrap(err, fault.Unavailable, busyDetail)
	case err != nil:
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	// The actor changed before Presence could find the stream.
	if _, err := s.Identity.Recheck(ctx, actor); err != nil {
		admission.Release()
		return nil, err
	}
	return admission, nil
}

// attachCall binds a call to its admission. The client of the call cannot reconnect. So when the actor's rights have
// changed, the call continues unless check fails. It ends with that error, or with another reason of the server. The
// caller must call stop.
func (s *Server) attachCall(ctx context.Context, admission *sse.Admission, end context.CancelCauseFunc,
	check func(context.Context) error,
) (stop func(), _ error) {
	changed := make(chan struct{}, 1)
	if err := admission.Attach(func(err error) {
		if !errors.Is(err, sse.ErrEnded) {
			end(err)
			return
		}
		select {
		case changed <- struct{}{}:
		default: // The next check has not begun.
		}
	}); err != nil {
		return func() {}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var checks sync.WaitGroup
	checks.Go(func() {
		for {
			select {
			case <-changed:
				if err := check(ctx); err != nil {
					end(err)
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		checks.Wait()
	}, nil
}

// hold sends heartbeats until the client should attach again.
func (s *Server) hold(
	ctx context.Context, w http.ResponseWriter, r *http.Request, admission *sse.Admission, found chat.Attachment,
	begun bool,
) error {
	if !begun {
		if err := s.Stream.Begin(w, r); err != nil {
			return err
		}
	}
	held, release := context.WithTimeout(ctx, found.Patience)
	defer release()
	err := s.Stream.Hold(held, w, admission, found.Opened)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil
	}
	return err
}

// within bounds the database calls of an attachment.
func within(ctx context.Context, attach func(context.Context) (chat.Attachment, error)) (chat.Attachment, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return attach(ctx)
}

// streamEnd starts the span of a stream and returns its end callback. The callback ends the span and records why the
// stream ended before its text, unless the client disconnected.
func (s *Server) streamEnd(ctx context.Context, messageID uuid.UUID) func(error) {
	id := requestID(ctx)
	_, span := s.Tracer.Start(ctx, "stream", trace.WithAttributes(attribute.String("message.id", messageID.String())))
	return func(err error) {
		if err != nil {
			span.SetAttributes(attribute.String("stream.end", err.Error()))
		}
		span.End()
		if err != nil && !errors.Is(err, sse.ErrGone) {
			s.log.Info("stream cut off", "message_id", messageID, "request_id", id, "err", err)
		}
	}
}

// reachTimeout bounds the wait for a text from another server to reach the client's cursor. Sending such a text from
// its start would cost a busy machine more than waiting.
const reachTimeout = 10 * time.Second

// reach reports whether to serve the text. If not, a newer one exists.
func reach(ctx context.Context, text *stream.Text, cursor string) bool {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	return text.WaitForCursor(ctx, cursor)
}

// streamDeadline returns the time limit of a stream: before its token expires, with jitter.
func streamDeadline(expires time.Time) time.Time {
	left := time.Until(expires)
	return expires.Add(-rand.N(max(min(endJitter, left/2), 1))) //nolint:gosec // Spreads clients; no secret.
}
