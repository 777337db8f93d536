package chat

import (
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/answer"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/stream"
)

// KnownText is the part of an earlier run's text that was stored or sent to other servers. The zero value is empty.
type KnownText struct {
	Run       int
	Text      string
	Sources   []uuid.UUID     // The ids of the run's sources in their order.
	Continued []stream.Cursor // The ends of the texts that the run itself has continued.
	Rounds    []ToolRound     // The beginning of the text, up to calls of tools.
}

// AddedRound is a round of a running answer.
type AddedRound struct {
	RunID
	ToolRound
	Index   int         // The number of rounds before it.
	Sources []uuid.UUID // The ids of the answer's sources in their order.
}

// Checkpoint is the next piece of a running answer's text.
type Checkpoint struct {
	RunID
	Start   int // The length of the preceding pieces in bytes.
	Text    string
	Sources []uuid.UUID // With the first piece: the ids of the sources in their order.
}

// RunBeginning is the beginning of a later run's text.
type RunBeginning struct {
	RunID
	Text      string          // Of an earlier run, to be continued; "" to restart the answer.
	Sources   []uuid.UUID     // Of Text.
	Continued []stream.Cursor // The ends of the texts of earlier runs in Text.
	KeepTools bool            // Text begins with the stored rounds. Otherwise they are deleted.
}

// RunID identifies a run of a generation.
type RunID struct {
	MessageID uuid.UUID
	Run       int
}

// A server that takes over a generation continues its text if the model can (llm.Offer.Continues). The text comes from
// checkpoints in the database or, if that is longer, from the updates that the failed server has sent to others.
//
// An answer is restarted if its model thinks, if it is a list of changes or JSON, if it has shown reasoning, or if its
// sources differ from the earlier ones.

const (
	// A text is stored when it has grown by checkpointBytes, or has grown at all after checkpointAge.
	checkpointBytes = 2 << 10
	checkpointAge   = 5 * time.Second

	// logTimeout bounds reading the updates of a failed server.
	logTimeout = 2 * time.Second
)

// continues reports whether the text of an answer can be continued by a later run.
func (req *AnswerRequest) continues() bool {
	thinks := req.Model.Thinking != nil && *req.Model.Thinking
	return req.Model.Continues && !thinks && !req.Proofreads() && !req.wantsJSON()
}

// checkpointRunning stores the new text of running answers.
func (s *Service) checkpointRunning() {
	s.mu.Lock()
	running := slices.Collect(maps.Values(s.running))
	s.mu.Unlock()
	s.checkpoint(s.root, running, checkpointBytes)
}

// checkpoint stores the new text of generations that has at least size bytes, or is old.
func (s *Service) checkpoint(ctx context.Context, generations []*generation, size int) {
	var pieces []Checkpoint
	of := make(map[uuid.UUID]*generation)
	now := time.Now()
	for _, g := range generations {
		if !g.opened.Load() || !g.req.continues() {
			continue
		}
		fresh := g.text.Len() - g.checkpointed
		if fresh == 0 || fresh < size && now.Sub(g.checkpointedAt) < checkpointAge {
			continue
		}
		piece, ok := g.nextCheckpoint()
		if !ok {
			continue
		}
		g.hasCheckpoints.Store(true) // Before the check, because the end deletes them only if it is set.
		if g.state.Load() != stateWriting {
			continue
		}
		pieces = append(pieces, piece)
		of[g.answer.ID] = g
	}
	if len(pieces) == 0 {
		return
	}
	within, cancel := context.WithTimeout(ctx, commitTimeout)
	defer cancel()
	stored, err := s.store.AddCheckpoints(within, s.serverID, pieces)
	if err != nil && ctx.Err() == nil {
		s.log.WarnContext(ctx, "chat: storing the text of running answers failed", "answers", len(pieces), "err", err)
	}
	for _, piece := range pieces {
		if g := of[piece.MessageID]; slices.Contains(stored, piece.MessageID) {
			g.checkpointed, g.checkpointedAt = piece.Start+len(piece.Text), now
		}
	}
}

// nextCheckpoint returns the text after the last checkpoint. ok is false if it cannot be continued.
func (g *generation) nextCheckpoint() (piece Checkpoint, ok bool) {
	text := g.text.Text() // Read before the sources, which precede the text.
	if reasoning, _ := g.text.Reasoning(); reasoning != "" || g.hidesSources() {
		return Checkpoint{}, false
	}
	piece = Checkpoint{RunID: g.runID(), Start: g.checkpointed, Text: text[g.checkpointed:]}
	if piece.Start == 0 {
		piece.Sources = g.sourceIDs()
	}
	return piece, true
}

// sourceIDs returns the ids of the answer's sources, except those found by tools.
func (g *generation) sourceIDs() []uuid.UUID {
	ids := make([]uuid.UUID, len(g.grounds.Sources))
	for i, source := range g.grounds.Sources {
		ids[i] = source.ChunkEmbeddingID
	}
	return ids
}

// hidesSources reports whether the answer has sources whose ids other servers do not receive.
func (g *generation) hidesSources() bool {
	return slices.ContainsFunc(g.grounds.Sources, func(source Source) bool { return source.Hidden })
}

// findKnownText replaces the known text by that of the same or a later run in the updates that its server has sent to
// others, if that is longer.
func (s *Service) findKnownText(ctx context.Context, g *generation) {
	stored := g.known
	stored.Text = roundsText(stored.Rounds)
	defer func() {
		if !strings.HasPrefix(g.known.Text, stored.Text) {
			g.known = stored
		}
	}()
	if !g.req.continues() {
		g.known.Text = ""
		return
	}
	ctx, cancel := context.WithTimeout(ctx, logTimeout)
	defer cancel()
	sent := s.hub.ReadLog(ctx, g.answer.ID.String())
	if sent == nil || sent.Run() >= g.answer.Run || sent.Run() < g.known.Run {
		return
	}
	text := sent.Text()
	if sent.Run() == g.known.Run && len(text) <= len(g.known.Text) {
		return
	}
	g.known = KnownText{Run: sent.Run(), Text: text, Continued: sent.Head().Continued, Rounds: g.known.Rounds}
	for _, id := range sent.Sources() {
		parsed, err := uuid.Parse(id)
		if err != nil {
			g.known.Text = ""
		}
		if slices.Contains(stored.Sources, parsed) || !hasFound(stored.Rounds, parsed) {
			g.known.Sources = append(g.known.Sources, parsed)
		}
	}
	if len(stored.Rounds) > 0 && !slices.Equal(g.known.Sources, stored.Sources) {
		g.known.Text = "" // Of a call whose result was not stored.
	}
	if reasoning, _ := sent.Reasoning(); reasoning != "" {
		g.known.Text = ""
	}
}

// hasOtherSources reports whether the sources found differ from those of the known text.
func (g *generation) hasOtherSources() bool {
	return g.grounded && (g.hidesSources() || !slices.Equal(g.known.Sources, g.sourceIDs()))
}

// prefix returns the known text after the rounds if the model should continue it with the sources found, else "". If the
// answer has ended before its sources were found, prefix returns the text that is kept.
func (g *generation) prefix(limit int) string {
	text := g.known.Text[len(g.roundsText):]
	if g.opened.Load() || !llm.CanContinue(text) || len(text) >= limit || g.hasOtherSources() {
		return ""
	}
	if g.grounded && g.guard != nil && answer.NewCitationNormalizer(passages(g.allSources())).Write(text) != text {
		return "" // It ends inside of a citation.
	}
	return text
}

// open makes the text of a generation that was taken over visible. The text begins with the known rounds and prefix, a
// known text. Further calls have no effect.
func (s *Service) open(g *generation, prefix string) error {
	if g.opened.Load() {
		return nil
	}
	prefix = g.roundsText + prefix
	begin := RunBeginning{RunID: g.runID(), Text: prefix, KeepTools: len(g.rounds) > 0}
	if prefix != "" {
		begin.Sources = g.known.Sources
		begin.Continued = stream.Head{Run: g.known.Run, Continued: g.known.Continued}.Continue(len(prefix))
		g.hasCheckpoints.Store(true)
	}
	// Also if the answer was stopped, because its text is kept.
	if err := s.persist(s.root, func(ctx context.Context) error {
		return s.store.BeginRun(ctx, s.serverID, begin)
	}); err != nil {
		return s.dropStale(g, err)
	}
	g.putRounds()
	if prefix != "" {
		if g.guard != nil {
			g.guard.Write(prefix)
		}
		g.text.Continue(prefix, begin.Continued)
		g.length = len(prefix)
		g.checkpointed, g.checkpointedAt = len(prefix), time.Now()
		g.newParagraph = len(prefix) == len(g.roundsText)
	}
	s.ensureLease()
	if g.state.Load() == stateLost {
		return errLost
	}
	s.hub.Register(g.text)
	g.opened.Store(true)
	return nil
}
