package org

import (
	"context"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// Limits of the days after which threads are deleted.
const (
	minRetention = 30
	maxRetention = 3650
)

// RetentionPreview counts what a setting would delete now.
type RetentionPreview struct {
	Told    int // Threads whose owners would be told at once.
	Due     int // Those of them that would be deleted as soon as the time after that is over.
	Members int // The owners.
}

// RetentionStore stores after how many days threads are deleted.
type RetentionStore interface {
	// Retention returns after how many days without being touched an organization's threads are deleted, nil for never,
	// or ErrNoOrganization.
	Retention(ctx context.Context, organizationID uuid.UUID) (*int, error)

	// SetRetention replaces it and logs the change. From then on, what members were told before does not count: no
	// thread is deleted before its owner is told again. check is called with the actor's current state; its error is
	// returned unchanged.
	SetRetention(ctx context.Context, actor identity.Actor, days *int, check func(actor *Member) error) error

	// PreviewRetention counts what a number of days would delete now.
	PreviewRetention(ctx context.Context, organizationID uuid.UUID, days int) (RetentionPreview, error)
}

// Retention returns after how many days without being touched the threads of the actor's organization are deleted, nil
// for never.
func (s *Service) Retention(ctx context.Context, actor identity.Actor) (*int, error) {
	return s.retention.Retention(ctx, actor.OrganizationID)
}

// SetRetention replaces what Retention returns. For administrators.
func (s *Service) SetRetention(ctx context.Context, actor identity.Actor, days *int) error {
	if err := administers(actor); err != nil {
		return err
	}
	if days != nil {
		if err := checkRetention(*days); err != nil {
			return err
		}
	}
	return s.retention.SetRetention(ctx, actor, days, stillAdministers)
}

// PreviewRetention counts what a number of days would delete now. For administrators.
func (s *Service) PreviewRetention(ctx context.Context, actor identity.Actor, days int) (RetentionPreview, error) {
	if err := administers(actor); err != nil {
		return RetentionPreview{}, err
	}
	if err := checkRetention(days); err != nil {
		return RetentionPreview{}, err
	}
	return s.retention.PreviewRetention(ctx, actor.OrganizationID, days)
}

func checkRetention(days int) error {
	if days < minRetention || days > maxRetention {
		return fault.InvalidField("days", "%d日以上%s日以下で指定してください。", minRetention, grouped(maxRetention))
	}
	return nil
}
