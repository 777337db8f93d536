package chat

import (
	"context"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/proofread"
)

// FindProofreading returns an answer of the owner that is a list of changes. If the answer is not such a list, or is
// not complete, the error has the code fault.Conflict.
func (s *Service) FindProofreading(ctx context.Context, owner identity.Owner, id uuid.UUID) (Message, error) {
	m, err := s.find(ctx, owner, id)
	switch {
	case err != nil:
		return Message{}, err
	case !m.Status.Terminal():
		return Message{}, fault.Errorf(fault.Conflict, "校正が終わってから、もう一度お試しください。")
	case m.Proofread == nil:
		return Message{}, fault.Errorf(fault.Conflict, "この回答には、校正した文章がありません。文章校正の回答で、もう一度お試しください。")
	}
	return m, nil
}

// Decide stores the owner's decisions on the changes of an answer, and replaces earlier ones.
func (s *Service) Decide(ctx context.Context, owner identity.Owner, id uuid.UUID, d proofread.Decisions) error {
	m, err := s.FindProofreading(ctx, owner, id)
	if err != nil {
		return err
	}
	d, ok := m.Proofread.NormalizeDecisions(d)
	if !ok {
		return fault.InvalidField("accepted", "校正の結果にない番号か、accepted と refused の両方にある番号が含まれています。")
	}
	if err := s.store.PutDecisions(ctx, owner, id, d); err != nil {
		return err
	}
	s.publishMessage(ctx, owner, id)
	return nil
}
