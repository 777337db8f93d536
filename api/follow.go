package api

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/identity"
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
	ctx, cancel := context.WithDeadline(r.Context(), streamDeadline(actor.ExpiresAt))
	defer cancel()
	cursor := r.Header.Get("Last-Event-ID")
	for begun := false; ; begun = true {
		found, err := within(ctx, attach)
		if err != nil {
			if begun {
				return nil // The head is out: a stream that is closed without [DONE] says "come back".
			}
			return err
		}
		if !begun {
			if watching && found.Text != nil && found.Text.AtEnd(cursor) {
				return writeNoContent(w)
			}
			if err := s.Stream.Begin(w); err != nil {
				return nil // The client is gone.
			}
		}
		if found.Text != nil {
			s.logEnd(r, messageID, s.Stream.Send(ctx, w, found.Text.Watch(cursor)))
			return nil
		}
		held, release := context.WithTimeout(ctx, found.Patience)
		err = s.Stream.Hold(held, w, found.Opened)
		release()
		found.Leave()
		if err != nil && (!errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil) {
			s.logEnd(r, messageID, err)
			return nil
		}
	}
}

// within limits how long an attachment may wait for the database.
func within(ctx context.Context, attach func(context.Context) (chat.Attachment, error)) (chat.Attachment, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return attach(ctx)
}

// logEnd notes why a stream ended before its text did.
func (s *Server) logEnd(r *http.Request, messageID uuid.UUID, err error) {
	if err != nil && r.Context().Err() == nil {
		s.log.Info("stream cut off", "message_id", messageID, "request_id", requestID(r.Context()), "err", err)
	}
}

// streamDeadline returns when a stream ends at the latest: before its token runs out, and not all at once.
func streamDeadline(expires time.Time) time.Time {
	left := time.Until(expires)
	return expires.Add(-rand.N(max(min(endJitter, left/2), 1))) //nolint:gosec // Spreads clients; no secret.
}
