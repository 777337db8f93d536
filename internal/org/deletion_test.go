package org_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// brokenDeletion is a store with two due deletions. The first one always fails.
type brokenDeletion struct {
	org.Store
	due      []uuid.UUID
	finished []uuid.UUID
}

var errBroken = errors.New("broken")

func (s *brokenDeletion) DueDeletions(context.Context) ([]uuid.UUID, error) { return s.due, nil }

func (s *brokenDeletion) DeleteBatch(_ context.Context, id uuid.UUID) (more bool, err error) {
	if id == s.due[0] {
		return false, errBroken
	}
	return false, nil
}

func (s *brokenDeletion) FinishDeletion(
	_ context.Context, id uuid.UUID, _ func(org.Deletion) (string, error),
) (done bool, err error) {
	s.finished = append(s.finished, id)
	return true, nil
}

// TestFailedDeletionDoesNotStopOthers: an organization that cannot be deleted does not keep the others from being
// deleted, and its error is returned.
func TestFailedDeletionDoesNotStopOthers(t *testing.T) {
	t.Parallel()
	s := &brokenDeletion{due: []uuid.UUID{newID(), newID()}}
	err := org.NewDeletions(s, org.SigningKey{}, slog.New(slog.DiscardHandler)).Run(t.Context())
	if !errors.Is(err, errBroken) || !slices.Equal(s.finished, s.due[1:]) {
		t.Errorf("finished %v of %v, %v", s.finished, s.due, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	s.finished = nil
	if err := org.NewDeletions(s, org.SigningKey{}, slog.New(slog.DiscardHandler)).Run(ctx); err == nil ||
		len(s.finished) > 0 {
		t.Errorf("after the end of the context, finished %v, %v", s.finished, err)
	}
}
