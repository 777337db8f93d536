package chat

import (
	"context"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// preparationPoll is the interval at which a preparation is read while a client waits for it, because any server may be
// processing it.
const preparationPoll = 250 * time.Millisecond

// Preparation is a request to attach data sources to a thread and to process them.
type Preparation struct {
	RequestID uuid.UUID // Makes the request idempotent.
	ThreadID  uuid.UUID
	SourceIDs []uuid.UUID
}

// PreparationState is the state of a preparation.
type PreparationState struct {
	ID      uuid.UUID
	Status  datasource.Status // Failed if one of them failed or was deleted, after all have ended.
	Sources []datasource.Source
}

// Prepare attaches data sources to a thread. Their processing began when they were uploaded.
func (s *Service) Prepare(ctx context.Context, owner identity.Owner, p Preparation) (PreparationState, error) {
	thread, id, err := s.store.AttachSources(ctx, owner, p)
	if err != nil {
		return PreparationState{}, err
	}
	s.events.ThreadChanged(thread.readers(owner.OrganizationID), thread)
	return preparationState(id, thread, p.SourceIDs), nil
}

// AwaitPreparation waits until the data sources of a preparation are processed or have failed. If the context ends
// first, it returns their current state.
func (s *Service) AwaitPreparation(
	ctx context.Context, owner identity.Owner, p Preparation, now PreparationState,
) (PreparationState, error) {
	tick := time.NewTicker(preparationPoll)
	defer tick.Stop()
	for now.Status == datasource.Pending || now.Status == datasource.Running {
		select {
		case <-ctx.Done():
			return now, nil
		case <-tick.C:
		}
		thread, err := s.store.FindThread(ctx, owner, p.ThreadID)
		if ctx.Err() != nil {
			return now, nil
		}
		if err != nil {
			return PreparationState{}, err
		}
		now = preparationState(now.ID, thread, p.SourceIDs)
	}
	return now, nil
}

func preparationState(id uuid.UUID, thread Thread, ids []uuid.UUID) PreparationState {
	p := PreparationState{ID: id, Status: datasource.Success}
	counts := make(map[datasource.Status]int)
	for _, source := range thread.Sources {
		if slices.Contains(ids, source.ID) {
			p.Sources = append(p.Sources, source)
			counts[source.Status]++
		}
	}
	switch {
	case counts[datasource.Pending] > 0 && counts[datasource.Pending] == len(p.Sources):
		p.Status = datasource.Pending
	case counts[datasource.Pending]+counts[datasource.Running] > 0:
		p.Status = datasource.Running
	case counts[datasource.Success] < len(ids):
		p.Status = datasource.Failed
	}
	return p
}
