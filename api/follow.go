package api

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/fault"
	"github.com/tsumugi-ai/tsumugi/identity"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// endJitter spreads the ends of streams whose tokens run out together.
const endJitter = time.Minute

func (s *Server) streamMessage(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	exchange, err := s.ask(w, r, actor)
	if err != nil {
		return err
	}
	return s.follow(w, r, actor, exchange.Answer.ID, false, func(ctx context.Context) (chat.Attachment, error) {
		return s.Chat.Follow(ctx, owner(actor), exchange.Answer)
	})
}

func (s *Server) attachMessage(w http.ResponseWriter, r *http.Request, actor identity.Actor) error {
	id, err := pathID(r, "message_id")
	if err != nil {
		return err
	}
	return s.follow(w, r, actor, id, true, func(ctx context.Context) (chat.Attachment, error) {
		return s.Chat.Attach(ctx, owner(actor), id)
	})
}

// follow streams an answer from the client's cursor on: the live text, the stored one, or, while no server writes it,
// heartbeats until one does. A client that has all is answered 204 if it only asked to watch.
func (s *Server) follow(
	w http.ResponseWriter, r *http.Request, actor identity.Actor, messageID uuid.UUID, watching bool,
	attach func(ctx context.Context) (chat.Attachment, error),
) error {
	release, err := s.admit(actor)
	if err != nil {
		return err
	}
	until := streamDeadline(actor.ExpiresAt)
	ctx, cancel := context.WithDeadline(r.Context(), until)
	defer cancel()
	cursor := r.Header.Get("Last-Event-ID")
	for begun := false; ; begun = true {
		found, err := within(ctx, attach)
		if err != nil {
			release()
			if begun {
				return nil // The head is out: a stream that is closed without [DONE] says "come back".
			}
			return err
		}
		if watching && !begun && found.Text != nil && found.Text.AtEnd(cursor) {
			found.Leave()
			release()
			return writeNoContent(w)
		}
		end := s.streamEnd(requestID(r.Context()), messageID)
		if found.Text != nil {
			// What is called at the end, perhaps in an hour, keeps nothing of the request.
			s.Stream.Serve(w, r, stream.Delivery{
				Watch: found.Text.Watch(cursor), Until: until, Begun: begun,
				Done: func(err error) {
					found.Leave()
					release()
					end(err)
				},
			})
			return nil
		}
		if err = s.hold(ctx, w, r, found, begun); err != nil {
			release()
			if r.Context().Err() == nil {
				end(err)
			}
			return nil
		}
	}
}

// admit lets the actor begin a stream.
func (s *Server) admit(actor identity.Actor) (release func(), err error) {
	release, err = s.Stream.Admit(actor.ID.String())
	switch {
	case errors.Is(err, stream.ErrTooMany):
		return nil, fault.Wrap(err, fault.RateLimited, "同時に開ける回答の数が上限に達しています。使っていないタブを閉じてから、もう一度お試しください。")
	case errors.Is(err, stream.ErrDraining):
		return nil, fault.Wrap(err, fault.Unavailable, "サーバーを再起動しています。少し待ってから、もう一度お試しください。")
	case errors.Is(err, stream.ErrFull):
		return nil, fault.Wrap(err, fault.Unavailable, "ただいま混み合っています。少し待ってから、もう一度お試しください。")
	}
	return release, err
}

// hold keeps the client connected until it is worth attaching again.
func (s *Server) hold(ctx context.Context, w http.ResponseWriter, r *http.Request, found chat.Attachment, begun bool) error {
	defer found.Leave()
	if !begun {
		if err := s.Stream.Begin(w, r); err != nil {
			return err
		}
	}
	held, release := context.WithTimeout(ctx, found.Patience)
	defer release()
	err := s.Stream.Hold(held, w, found.Opened)
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

// streamEnd returns what notes why a stream ended before its text did, unless its client just left.
func (s *Server) streamEnd(requestID string, messageID uuid.UUID) func(error) {
	return func(err error) {
		if err != nil && !errors.Is(err, stream.ErrGone) {
			s.log.Info("stream cut off", "message_id", messageID, "request_id", requestID, "err", err)
		}
	}
}

// streamDeadline returns when a stream ends at the latest: before its token runs out, and not all at once.
func streamDeadline(expires time.Time) time.Time {
	left := time.Until(expires)
	return expires.Add(-rand.N(max(min(endJitter, left/2), 1))) //nolint:gosec // Spreads clients; no secret.
}
