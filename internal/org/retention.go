package org

import (
	"context"

	"github.com/google/uuid"

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

// RetentionStore stores the number of days after which threads are deleted.
type RetentionStore interface {
	// Retention returns the number of days after which an organization's unused threads are deleted, nil for never, or
	// ErrNoOrganization.
	Retention(ctx context.Context, organizationID uuid.UUID) (*int, error)

	// SetRetention replaces the number of days and logs the change. Earlier notifications of members become invalid: no
	// thread is deleted before its owner is notified again. SetRetention calls check with the actor's current state,
	// and returns its error unchanged.
	SetRetention(ctx context.Context, actor identity.Actor, days *int, check func(actor *Member) error) error

	// PreviewRetention counts the threads that a number of days would affect now.
	PreviewRetention(ctx context.Context, organizationID uuid.UUID, days int) (RetentionPreview, error)
}

// Retention returns the number of days after which unused threads of the actor's organization are deleted, or nil for
// never.
func (s *Service) Retention(ctx context.Context, actor identity.Actor) (*int, error) {
	return s.retention.Retention(ctx, actor.OrganizationID)
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
	return s.retention.SetRetention(ctx, actor, days, stillAdministers)
}

// PreviewRetention counts the threads that a number of days would affect now. For administrators.
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
