package chat

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// Attachment is a way to follow an answer.
type Attachment struct {
	Text   *stream.Text    // The text to watch; nil if no server is known to write the answer.
	Opened <-chan struct{} // Closed when the caller should attach again. Set if Text is nil.
	// Must be called when the caller no longer watches Text or waits for Opened. Further calls have no effect.
	Leave func()

	// Patience is the time after which the caller should attach again in any case, because another server may have
	// completed the answer, or its thread may have been deleted.
	Patience time.Duration
}

// Attach finds the text of an answer: the live one, or the stored one if it is complete.
func (s *Service) Attach(ctx context.Context, owner identity.Owner, messageID uuid.UUID) (Attachment, error) {
	interest := s.hub.Join(messageID.String())
	attachment, err := s.attach(ctx, owner, messageID, interest)
	if err != nil {
		interest.Leave()
	}
	return attachment, err
}

func (s *Service) attach(
	ctx context.Context, owner identity.Owner, messageID uuid.UUID, interest *stream.Interest,
) (Attachment, error) {
	message, err := s.find(ctx, owner, messageID)
	if err == nil && message.Role != RoleAssistant {
		err = ErrNoMessage
	}
	if err != nil {
		return Attachment{}, err
	}
	if message.SharedIn != nil && message.Status.Terminal() { // The reader's own view of its citations.
		return Attachment{Text: replay(message), Leave: interest.Leave}, nil
	}
	if text := s.currentText(interest, message); text != nil {
		return Attachment{Text: text, Leave: interest.Leave}, nil
	}
	// Taken before the answer is read again, so that a text that was opened and closed since then also closes it.
	opened := interest.Opened()
	if !message.Status.Terminal() {
		// It may have ended and left the hub since it was read: an answer leaves the hub only after it is stored.
		if message, err = s.find(ctx, owner, messageID); err != nil {
			return Attachment{}, err
		}
	}
	if message.Status.Terminal() {
		return Attachment{Text: replay(message), Leave: interest.Leave}, nil
	}
	if message.AwaitsApproval {
		text, err := s.waitingText(ctx, message)
		if text != nil || err != nil {
			return Attachment{Text: text, Leave: interest.Leave}, err
		}
	}
	interest.Mirror()
	return Attachment{Opened: opened, Leave: interest.Leave, Patience: s.cfg.Patience}, nil
}

// currentText returns this server's text of an answer, or nil if it has none of the answer's run or a later one. It
// drops a text of an earlier run: another server has taken over the answer, and this server has not been notified yet.
// A client that followed the earlier run would soon be disconnected.
func (s *Service) currentText(interest *stream.Interest, m Message) *stream.Text {
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
		return nil // The store is about to refuse its end.
	}
	return text
}

// FindAttachable returns the answer of a thread to which a client with a last event id may attach, or nil. It is the
// answer that is being generated, or the last one if the client has already received a part of it.
func (s *Service) FindAttachable(
	ctx context.Context, owner identity.Owner, threadID uuid.UUID, lastEventID string,
) (*Message, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	answer, err := s.store.LastAnswer(ctx, owner, threadID)
	if err != nil || answer == nil || !answer.Status.Terminal() {
		return answer, err
	}
	if cursor, ok := stream.ParseCursor(lastEventID); ok && streamHead(*answer).Accepts(cursor) {
		return answer, nil
	}
	return nil, nil //nolint:nilnil // None is no error.
}

// Follow is Attach for an answer just returned by Send. It saves reading the answer again if this server generates it
// or if it is complete.
func (s *Service) Follow(ctx context.Context, owner identity.Owner, answer Message) (Attachment, error) {
	interest := s.hub.Join(answer.ID.String())
	if text := s.currentText(interest, answer); text != nil {
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

// WaitFor returns the exchange of an answer when the answer is complete. If this server stops first, the error has the
// code fault.Unavailable: the client can repeat the request, which finds the answer on another server.
func (s *Service) WaitFor(ctx context.Context, owner identity.Owner, exchange Exchange) (Exchange, error) {
	leave := func() {}
	defer func() { leave() }()
	for !exchange.Answer.Status.Terminal() {
		attachment, err := s.Attach(ctx, owner, exchange.Answer.ID)
		if err != nil {
			return Exchange{}, err
		}
		// Called after attaching: when the last watcher leaves, the server unsubscribes from another server's text.
		leave()
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

// await waits until the answer should be read again.
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
	case <-s.root.Done(): // Another server is about to take over the answer.
		return refusal(RefusedStopping)
	case <-ctx.Done():
		return fault.Wrap(ctx.Err(), fault.Canceled, "接続が切れました。")
	}
	return nil
}

// readTimeout limits each database read of a request that follows an answer, because the request itself has no
// deadline.
const readTimeout = 5 * time.Second

// find reads an answer within readTimeout.
func (s *Service) find(ctx context.Context, owner identity.Owner, id uuid.UUID) (Message, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	return s.store.FindMessage(ctx, owner, id)
}

// replay returns a complete answer as a text to watch.
func replay(m Message) *stream.Text {
	text := stream.NewText(streamHead(m))
	for _, step := range m.Steps {
		text.PutStep(streamStep(step))
	}
	for _, c := range m.Citations {
		if c.ChunkEmbeddingID != uuid.Nil {
			text.PutSource(streamSource(c))
		}
	}
	for i, call := range m.ToolCalls {
		if call.State != ToolReturned {
			text.PutRound(call.Round)
		}
		putToolCall(text, call)
		if call.State != ToolReturned && i == len(m.ToolCalls)-1 {
			text.PutRound(call.Round + 1)
		}
	}
	if title := m.ThreadTitle; title.Text != "" {
		text.PutTitle(title.Text, title.UpdatedAt)
	}
	if r := m.Proofread; r != nil {
		putOriginal(text, r.Text)
		for _, change := range r.Changes {
			text.PutChange(change.ID, encode(change))
		}
	}
	text.PutReasoning(m.Reasoning, m.ReasoningTime)
	text.AppendText(m.Content)
	putCitations(text, m.Citations)
	putProofread(text, m.Proofread)
	text.Finish(streamEnd(m))
	return text
}

func streamStep(s Step) stream.Step {
	return stream.Step{
		Kind: string(s.Kind), Status: string(s.Status), Detail: s.Detail, Done: s.Done, Total: s.Total,
	}
}

func streamSource(c Citation) stream.Source {
	if c.URL != "" {
		return stream.Source{
			SourceID: c.ChunkEmbeddingID.String(), Title: c.Filename, Index: c.Index, URL: c.URL, Site: c.Site,
			PublishedOn: c.PublishedOn,
		}
	}
	format, _ := extract.FormatOf(c.Filename)
	return stream.Source{
		SourceID: c.ChunkEmbeddingID.String(), MediaType: format.MediaType, Title: c.Filename, Filename: c.Filename,
		Index: c.Index, Page: c.Page, DataSourceID: c.DataSourceID.String(), Locator: c.Locator,
	}
}

// putCitations publishes the citations of an answer, if it has any.
func putCitations(text *stream.Text, citations []Citation) {
	if len(citations) == 0 {
		return
	}
	text.PutCitations(encode(citations))
}

func streamHead(m Message) stream.Head {
	metadata := `{"thread_id":"` + m.ThreadID.String() + `"`
	if m.ParentID != nil {
		metadata += `,"user_message_id":"` + m.ParentID.String() + `"`
	}
	return stream.Head{MessageID: m.ID.String(), Run: m.Run, Metadata: json.RawMessage(metadata + "}"), Continued: m.Continued}
}

// streamEnd returns the end of the stream of a complete answer.
func streamEnd(m Message) stream.End {
	switch {
	case m.Status == StatusFailed && m.Failure != nil:
		return stream.End{
			Outcome: stream.Failed, ErrorText: m.Failure.Detail, Code: m.Failure.Code, Retryable: m.Failure.Retryable,
		}
	case m.FinishReason == FinishStopped:
		return stream.End{Outcome: stream.Aborted, Reason: string(FinishStopped)}
	}
	of := endMetadata{Usage: endUsage{m.InputTokens, m.OutputTokens}}
	of.ModelID, of.ModelName = m.Writer()
	return stream.End{Outcome: stream.Finished, FinishReason: string(m.FinishReason), Metadata: encode(of)}
}

// endMetadata is the metadata at the end of a stream of a complete answer.
type endMetadata struct {
	Usage     endUsage `json:"usage"`
	ModelID   string   `json:"model_id,omitempty"`
	ModelName string   `json:"model_name,omitempty"`
}

type endUsage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
}
