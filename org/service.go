package org

import (
	"context"

	"github.com/google/uuid"
)

// Service gives members their notices. It is safe for concurrent use.
type Service struct {
	store Store
}

// NewService returns a Service.
func NewService(store Store) *Service { return &Service{store: store} }

// Notifications returns a page of the notices for a member, newest first.
func (s *Service) Notifications(ctx context.Context, organizationID, userID uuid.UUID, offset, limit int) ([]Notification, error) {
	return s.store.ListNotifications(ctx, organizationID, userID, offset, limit)
}

// MarkRead marks notices as read by a member.
func (s *Service) MarkRead(ctx context.Context, organizationID, userID uuid.UUID, ids []uuid.UUID) error {
	return s.store.ReadNotifications(ctx, organizationID, userID, ids)
}
