package api

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
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

// endJitter spreads the ends of streams whose tokens run out together.
const endJitter = time.Minute

func (s *Server) streamMessage(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	// Before the question is taken: who is turned away has asked nothing.
	admission, err := s.admit(r.Context(), actor)
	if err != nil {
		return err
	}
	asked := false
	defer func() {
		if !asked {
			admission.Release()
		}
	}()
	exchange, err := s.ask(w, r, actor)
	if err != nil {
		return err
	}
	asked = true
	return s.follow(w, r, following{
		actor: actor, messageID: exchange.Answer.ID, admission: admission,
		attach: func(ctx context.Context) (chat.Attachment, error) {
			return s.Chat.Follow(ctx, owner(actor), exchange.Answer)
		},
	})
}

func (s *Server) attachMessage(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "message_id")
	if err != nil {
		return err
	}
	return s.attach(w, r, actor, id)
}

func (s *Server) attachThread(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "thread_id")
	if err != nil {
		return err
	}
	answer, err := s.Chat.AttachableIn(r.Context(), owner(actor), id, r.Header.Get("Last-Event-ID"))
	if err != nil {
		return err
	}
	if answer == nil {
		return writeNoContent(w)
	}
	return s.attach(w, r, actor, answer.ID)
}

// attach has a client watch an answer.
func (s *Server) attach(w http.ResponseWriter, r *http.Request, actor identity.Actor, id uuid.UUID) error {
	admission, err := s.admit(r.Context(), actor)
	if err != nil {
		return err
	}
	return s.follow(w, r, following{
		actor: actor, messageID: id, admission: admission, watching: true,
		attach: func(ctx context.Context) (chat.Attachment, error) { return s.Chat.Attach(ctx, owner(actor), id) },
	})
}

// following is a client's wish to follow an answer.
type following struct {
	actor     identity.Actor
	messageID uuid.UUID
	admission *sse.Admission
	watching  bool // It did not ask: 204 tells it that it has all.
	attach    func(ctx context.Context) (chat.Attachment, error)
}

// follow streams an answer from the client's cursor on: the live text, the stored one, or, while no server writes it,
// heartbeats until one does. A client that has all is answered 204 if it only asked to watch.
func (s *Server) follow(w http.ResponseWriter, r *http.Request, f following) error {
	until := streamDeadline(f.actor.ExpiresAt)
	ctx, cancel := context.WithDeadline(r.Context(), until)
	defer cancel()
	cursor := r.Header.Get("Last-Event-ID")
	leave, served := func() {}, false
	defer func() { // What is served ends later. Everything else ends here, a panic included.
		if !served {
			leave()
			f.admission.Release()
		}
	}()
	for begun := false; ; {
		found, err := within(ctx, f.attach)
		leave() // Not before: the last one to leave ends the following of another server's text, which has just begun.
		if err != nil {
			if begun {
				// The head is out: a stream that breaks off without [DONE] says "come back".
				panic(http.ErrAbortHandler)
			}
			return err
		}
		leave = found.Leave
		if f.watching && !begun && found.Text != nil && found.Text.AtEnd(cursor) {
			return writeNoContent(w)
		}
		if r.Method == http.MethodHead {
			return s.Stream.Begin(w, r) // net/http leaves the body out.
		}
		if found.Text != nil && !reach(ctx, found.Text, cursor) {
			continue
		}
		if found.Text != nil {
			// What is called at the end, perhaps in an hour, keeps nothing of the request but these.
			leave, admission, end, leavePlace := found.Leave, f.admission, s.streamEnd(r.Context(), f.messageID),
				keepPlace(r.Context())
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

// admit lets the actor begin a stream.
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
	if _, err := s.Identity.Recheck(ctx, actor); err != nil { // They changed before Presence could find the stream.
		admission.Release()
		return nil, err
	}
	return admission, nil
}

// hold keeps the client connected until it is worth attaching again.
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

// within limits how long an attachment may wait for the database.
func within(ctx context.Context, attach func(context.Context) (chat.Attachment, error)) (chat.Attachment, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return attach(ctx)
}

// streamEnd begins the span of a stream, and returns what is called when the stream is over: it ends the span, and
// notes why the stream ended before its text did, unless its client just left.
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

// reachTimeout is how long a client waits for its own place in a text that is just arriving from another server: to be
// told the text from its start would cost a busy machine more than the wait does.
const reachTimeout = 10 * time.Second

// reach says whether the text is to be served; else there is a newer one.
func reach(ctx context.Context, text *stream.Text, cursor string) bool {
	ctx, cancel := context.WithTimeout(ctx, reachTimeout)
	defer cancel()
	return text.Reach(ctx, cursor)
}

// streamDeadline returns when a stream ends at the latest: before its token runs out, and not all at once.
func streamDeadline(expires time.Time) time.Time {
	left := time.Until(expires)
	return expires.Add(-rand.N(max(min(endJitter, left/2), 1))) //nolint:gosec // Spreads clients; no secret.
}
