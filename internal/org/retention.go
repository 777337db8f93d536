package org

import (
	"context"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// Bounds of the number of days after which threads are deleted.
const (
	minRetention = 30
	maxRetention = 3650
)

// RetentionPreview counts what a setting would delete now.
type RetentionPreview struct {
	Told    int // Threads whose owners would be notified at once.
	Due     int // Those of them that would be deleted when the notice period ends.
	Members int // Number of their owners.
}

// Retention returns the number of days after which unused threads of the actor's organization are deleted, or nil for
// never.
func (s *Service) Retention(ctx context.Context, actor identity.Actor) (*int, error) {
	return s.store.Retention(ctx, actor.OrganizationID)
}

// SetRetention replaces the number of days. For administrators.
func (s *Service) SetRetention(ctx context.Context, actor identity.Actor, days *int) error {
	if err := administers(actor); err != nil {
		return err
	}
	if days != nil {
		if err := checkRetention(*days); err != nil {
			return err
		}
	}
	return s.store.SetRetention(ctx, actor, days, stillAdministers)
}

// PreviewRetention counts the threads that a number of days would affect now. For administrators.
func (s *Service) PreviewRetention(ctx context.Context, actor identity.Actor, days int) (RetentionPreview, error) {
	if err := administers(actor); err != nil {
		return RetentionPreview{}, err
	}
	if err := checkRetention(days); err != nil {
		return RetentionPreview{}, err
	}
	return s.store.PreviewRetention(ctx, actor.OrganizationID, days)
}

func checkRetention(days int) error {
	if days < minRetention || days > maxRetention {
		return fault.InvalidField("days", "%d日以上%s日以下で指定してください。", minRetention, grouped(maxRetention))
	}
	return nil
}
