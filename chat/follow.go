package chat

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// Attachment is a way to follow an answer.
type Attachment struct {
	Text   *stream.Text    // What to watch; nil while nobody writes the answer.
	Opened <-chan struct{} // Closed when it is worth attaching again. Set if Text is nil.
	Leave  func()          // To be called, at least once, when the caller no longer watches Text, or waits for Opened.

	// Patience is after how long it is worth attaching again in any case: another server may have completed the answer,
	// or its thread is gone.
	Patience time.Duration
}

// Attach finds the text of an answer: the live one, or the stored one when it is complete.
func (s *Service) Attach(ctx context.Context, owner Owner, messageID uuid.UUID) (Attachment, error) {
	interest := s.hub.Join(messageID.String())
	attachment, err := s.attach(ctx, owner, messageID, interest)
	if err != nil {
		interest.Leave()
	}
	return attachment, err
}

func (s *Service) attach(ctx context.Context, owner Owner, messageID uuid.UUID, interest *stream.Interest) (Attachment,
	error,
) {
	message, err := s.find(ctx, owner, messageID)
	if err == nil && message.Role != RoleAssistant {
		err = ErrNoMessage
	}
	if err != nil {
		return Attachment{}, err
	}
	if text := s.current(interest, message); text != nil {
		return Attachment{Text: text, Leave: interest.Leave}, nil
	}
	// Before the answer is read again: it is closed even by a text that has come and gone since.
	opened := interest.Opened()
	if !message.Status.Terminal() {
		// It may have ended, and left the hub, since it was read: the hub is left after the answer is stored.
		if message, err = s.find(ctx, owner, messageID); err != nil {
			return Attachment{}, err
		}
	}
	if message.Status.Terminal() {
		return Attachment{Text: replay(message), Leave: interest.Leave}, nil
	}
	interest.Mirror()
	return Attachment{Opened: opened, Leave: interest.Leave, Patience: s.cfg.Patience}, nil
}

// current returns the text of an answer that this server has, nil if it has none of the answer's run or a later one. A
// text of an earlier run is dropped: another server has taken the answer over, and this one has not been told, because
// it was held up or because the telling is on its way. A client that was shown the earlier run would be cut off soon,
// and come back a second time.
func (s *Service) current(interest *stream.Interest, m Message) *stream.Text {
	text := interest.Text()
	if text == nil || text.Run() >= m.Run {
		return text
	}
	s.mu.Lock()
	g := s.running[m.ID]
	s.mu.Unlock()
	if g != nil && g.answer.Run < m.Run {
		s.drop(g)
	}
	s.hub.Drop(m.ID.String(), m.Run-1)
	if text = interest.Text(); text != nil && text.Run() < m.Run {
		return nil // Its end is just being stored, and refused.
	}
	return text
}

// AttachableIn returns the answer of a thread that a client with an event id may attach to, nil if there is none: the
// one that is being written, or the last one, where the client has a part of it.
func (s *Service) AttachableIn(ctx context.Context, owner Owner, threadID uuid.UUID, lastEventID string) (*Message,
	error,
) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	answer, err := s.threads.LastAnswer(ctx, owner, threadID)
	if err != nil || answer == nil || !answer.Status.Terminal() {
		return answer, err
	}
	if cursor, ok := stream.ParseCursor(lastEventID); ok && cursor.Run == answer.Run {
		return answer, nil
	}
	return nil, nil //nolint:nilnil // None is no error.
}

// Follow is Attach for an answer that Send has just returned, so that nothing need be read again while it is written
// here or when it was complete.
func (s *Service) Follow(ctx context.Context, owner Owner, answer Message) (Attachment, error) {
	interest := s.hub.Join(answer.ID.String())
	if text := s.current(interest, answer); text != nil {
		return Attachment{Text: text, Leave: interest.Leave}, nil
	}
	if answer.Status.Terminal() {
		return Attachment{Text: replay(answer), Leave: interest.Leave}, nil
	}
	attachment, err := s.attach(ctx, owner, answer.ID, interest)
	if err != nil {
		interest.Leave()
	}
	return attachment, err
}

// WaitFor returns the exchange that an answer belongs to once it is complete. If this server stops before, the error
// has the code fault.Unavailable: the same request, made again, finds the answer elsewhere.
func (s *Service) WaitFor(ctx context.Context, owner Owner, exchange Exchange) (Exchange, error) {
	leave := func() {}
	defer func() { leave() }()
	for !exchange.Answer.Status.Terminal() {
		attachment, err := s.Attach(ctx, owner, exchange.Answer.ID)
		if err != nil {
			return Exchange{}, err
		}
		leave() // Not before: the last one to leave ends the following of another server's text, which has just begun.
		leave = attachment.Leave
		if err = s.await(ctx, attachment); err != nil {
			return Exchange{}, err
		}
		if exchange.Answer, err = s.find(ctx, owner, exchange.Answer.ID); err != nil {
			return Exchange{}, err
		}
	}
	return exchange, nil
}

// await waits until it is worth looking for an answer again.
func (s *Service) await(ctx context.Context, a Attachment) error {
	if a.Text != nil {
		if err := a.Text.Wait(ctx); err != nil {
			return fault.Wrap(err, fault.Canceled, "接続が切れました。")
		}
		return nil
	}
	patience := time.NewTimer(a.Patience)
	defer patience.Stop()
	select {
	case <-a.Opened:
	case <-patience.C:
	case <-s.root.Done(): // Another server has it in a moment.
		return refusal(RefusedStopping)
	case <-ctx.Done():
		return fault.Wrap(ctx.Err(), fault.Canceled, "接続が切れました。")
	}
	return nil
}

// readTimeout limits how long who follows an answer, which has no limit itself, waits for the database.
const readTimeout = 5 * time.Second

// find reads an answer, or says in time that it cannot be read.
func (s *Service) find(ctx context.Context, owner Owner, id uuid.UUID) (Message, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return s.threads.FindMessage(ctx, owner, id)
}

// replay returns a complete answer as a text that can be watched.
func replay(m Message) *stream.Text {
	text := stream.NewText(head(m))
	for _, step := range m.Steps {
		text.PutStep(step.Kind, string(step.Status), step.Detail)
	}
	for _, c := range m.Citations {
		text.PutSource(source(c))
	}
	if title := m.ThreadTitle; title.Text != "" {
		text.PutTitle(title.Text, title.UpdatedAt)
	}
	text.PutReasoning(m.Reasoning, m.ReasoningTime)
	text.AppendText(m.Content)
	text.Finish(end(m))
	return text
}

func source(c Citation) stream.Source {
	return stream.Source{
		SourceID: c.ChunkEmbeddingID.String(), MediaType: "text/plain", Title: c.Filename, Filename: c.Filename,
		Index: c.Index, Page: c.Page,
	}
}

func head(m Message) stream.Head {
	metadata := `{"thread_id":"` + m.ThreadID.String() + `"`
	if m.ParentID != nil {
		metadata += `,"user_message_id":"` + m.ParentID.String() + `"`
	}
	return stream.Head{MessageID: m.ID.String(), Run: m.Run, Metadata: json.RawMessage(metadata + "}")}
}

// end returns how a stream ends for an answer that is complete.
func end(m Message) stream.End {
	switch {
	case m.Status == StatusFailed && m.Failure != nil:
		return stream.End{
			Outcome: stream.Failed, ErrorText: m.Failure.Detail, Code: m.Failure.Code, Retryable: m.Failure.Retryable,
		}
	case m.FinishReason == FinishStopped:
		return stream.End{Outcome: stream.Aborted, Reason: string(FinishStopped)}
	}
	return stream.End{
		Outcome: stream.Finished, FinishReason: string(m.FinishReason),
		Metadata: fmt.Appendf(nil, `{"usage":{"input_tokens":%d,"output_tokens":%d}}`, m.InputTokens, m.OutputTokens),
	}
}
