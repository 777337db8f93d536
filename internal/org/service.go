package org

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/work"
)

// Service manages members, and notices to them. It is safe for concurrent use.
type Service struct {
	store    Store
	accounts Accounts
	events   Events
	log      *slog.Logger
	group    *work.Group
}

// NewService returns a Service. If accounts is nil, invitations fail; if events is nil, events are discarded. It starts
// no goroutine before Start.
func NewService(store Store, accounts Accounts, events Events, log *slog.Logger) *Service {
	accounts = cmp.Or[Accounts](accounts, noAccounts{})
	events = cmp.Or[Events](events, noEvents{})
	return &Service{store: store, accounts: accounts, events: events, log: log, group: work.NewGroup(log)}
}

// Start begins to publish and to end notices when they are due, and to retry pending account changes. It must be called
// once; the caller must then call Stop.
func (s *Service) Start() {
	w := &watch{store: s.store, events: s.events, log: s.log, news: make(chan news)}
	s.group.Go(w.listen)
	s.group.Go(w.run)
	s.group.Every(accountSweep, nil, func(ctx context.Context) error {
		_, err := s.sweep(ctx)
		return err
	}, "org: claiming pending account changes failed")
}

// Stop ends the goroutines of Start and waits for them.
func (s *Service) Stop() { s.group.Stop() }

// Notifications returns a page of the notices for a member, newest first.
func (s *Service) Notifications(ctx context.Context, organizationID, userID uuid.UUID, offset,
	limit int,
) ([]Notification, error) {
	return s.store.ListNotifications(ctx, organizationID, userID, offset, limit)
}

// MarkRead marks notices as read by a member. It ignores ids of notices for other members.
func (s *Service) MarkRead(ctx context.Context, organizationID, userID uuid.UUID, ids []uuid.UUID) error {
	if err := s.store.ReadNotifications(ctx, organizationID, userID, ids); err != nil {
		return err
	}
	s.events.NotificationsRead(userID, ids)
	return nil
}
