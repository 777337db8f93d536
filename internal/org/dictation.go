package org

import (
	"context"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// DictationService reports whether members of the actor's organization may dictate in browsers that send the audio to a
// service.
func (s *Service) DictationService(ctx context.Context, actor identity.Actor) (bool, error) {
	return s.store.DictationService(ctx, actor.OrganizationID)
}

// SetDictationService allows or forbids such browsers in the actor's organization. For administrators.
func (s *Service) SetDictationService(ctx context.Context, actor identity.Actor, allowed bool) error {
	if err := administers(actor); err != nil {
		return err
	}
	return s.store.SetDictationService(ctx, actor, allowed, stillAdministers)
}
