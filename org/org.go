// Package org owns organizations and the notices to their members. It imports fault; it knows no technology.
package org

import (
	"context"
	"time"

	"github.com/google/uuid"
)

// Organization is a tenant: a company whose members share skills and a contract.
type Organization struct {
	ID          uuid.UUID
	Name        string
	AuthType    string   // "cognito" or "federated_idp".
	MailDomains []string // Lower case.
}

// Level says how urgent a notice is.
type Level string

// The levels of the contract.
const (
	LevelInfo        Level = "info"
	LevelWarning     Level = "warning"
	LevelMaintenance Level = "maintenance"
)

// Notification is a notice to the members of one organization, or of all.
type Notification struct {
	ID             uuid.UUID
	OrganizationID *uuid.UUID // Nil: for every organization.
	Title          string
	Body           string
	URL            string // "" for none.
	Level          Level
	PublishedAt    time.Time

	// Read holds for the user on whose behalf the notice was read.
	Read bool
}

// Store is what the Service needs of a database.
type Store interface {
	// CreateOrganization adds an organization.
	CreateOrganization(ctx context.Context, organization Organization) error

	// CountUsers returns how many users all organizations have together.
	CountUsers(ctx context.Context) (int, error)

	// ListNotifications returns the notices for the organization that are published by now, newest first, then by id
	// descending, with Read set for the user.
	ListNotifications(ctx context.Context, organizationID, userID uuid.UUID, offset, limit int) ([]Notification, error)

	// ReadNotifications marks notices as read by the user. Ids that do not exist or are another organization's are
	// passed over.
	ReadNotifications(ctx context.Context, organizationID, userID uuid.UUID, ids []uuid.UUID) error

	// PublishNotification adds a notice.
	PublishNotification(ctx context.Context, notification Notification) error

	// FindNotification returns a notice, published by now or not, with Read unset. If there is none, the error has the
	// code fault.NotFound.
	FindNotification(ctx context.Context, id uuid.UUID) (Notification, error)

	// UpcomingNotifications returns when the notices that are not published yet will be, by their ids.
	UpcomingNotifications(ctx context.Context) (map[uuid.UUID]time.Time, error)

	// WatchNotifications tells the watcher of each notice that is added, by whomever, until the context ends. It calls the
	// watcher from one goroutine.
	WatchNotifications(ctx context.Context, watcher Watcher)
}

// Watcher is told of notices as they are added.
type Watcher struct {
	Listening func()             // From now on each one is told. Called again after an interruption: some may be missing.
	Added     func(id uuid.UUID) // It may be one for a later time.
	Lost      func(err error)    // An interruption begins.
}

// Events is told what members' screens must show. Its methods are called from many goroutines and never block.
type Events interface {
	// NotificationPublished is told on every server of a notice whose time has come.
	NotificationPublished(notification Notification)

	// NotificationsMissed is told on a server that may have missed some.
	NotificationsMissed()

	// NotificationsRead is told of notices that a member has marked as read.
	NotificationsRead(userID uuid.UUID, ids []uuid.UUID)
}

// noEvents tells nobody.
type noEvents struct{}

func (noEvents) NotificationPublished(Notification)       {}
func (noEvents) NotificationsMissed()                     {}
func (noEvents) NotificationsRead(uuid.UUID, []uuid.UUID) {}
