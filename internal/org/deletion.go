package org

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/work"
)

// DeletionGrace is the time between an operator's request to delete an organization and the deletion.
const DeletionGrace = 30 * 24 * time.Hour

const (
	deletionInterval = time.Minute
	deletionTimeout  = 2 * time.Minute // Of one batch.
)

// Deletion is the requested deletion of an organization.
type Deletion struct {
	ID          uuid.UUID // The organization's.
	Name        string
	RequestedAt time.Time
	DeletesAt   *time.Time       // Nil once the organization does not exist.
	StartedAt   *time.Time       // Nil before the start.
	Counts      map[string]int64 // By kind, what existed at the start.
	Certificate string           // "" until nothing is left.
}

// Deletions deletes organizations when they are due. Every server runs it, so that no leader is needed: an organization
// is locked for each batch, and the next server continues after a crash.
type Deletions struct {
	store Store
	key   SigningKey
	log   *slog.Logger
	group *work.Group
}

// NewDeletions returns a Deletions that signs certificates with key. It starts no goroutine before Start.
func NewDeletions(store Store, key SigningKey, log *slog.Logger) *Deletions {
	return &Deletions{store: store, key: key, log: log, group: work.NewGroup(log)}
}

// Start begins to delete due organizations. It must be called once; the caller must then call Stop.
func (d *Deletions) Start() {
	d.group.Every(deletionInterval, nil, d.Run, "org: deleting an organization failed, retrying")
}

// Stop ends the goroutine of Start after its current batch and waits for it.
func (d *Deletions) Stop() { d.group.Stop() }

// Run deletes due organizations. It leaves those unfinished whose accounts or files are not removed yet. An error of one
// organization does not stop the deletion of the others.
func (d *Deletions) Run(ctx context.Context) error {
	due, err := d.store.DueDeletions(ctx)
	for i := 0; i < len(due) && ctx.Err() == nil; i++ {
		if failure := d.delete(ctx, due[i]); failure != nil {
			err = errors.Join(err, fmt.Errorf("organization %s: %w", due[i], failure))
		}
	}
	return errors.Join(err, ctx.Err())
}

// delete deletes an organization in batches, and finishes its deletion if nothing is left.
func (d *Deletions) delete(ctx context.Context, id uuid.UUID) error {
	for more := true; more; {
		batch, cancel := context.WithTimeout(ctx, deletionTimeout)
		var err error
		more, err = d.store.DeleteBatch(batch, id)
		cancel()
		if err != nil {
			return err
		}
	}
	done, err := d.store.FinishDeletion(ctx, id, func(finished Deletion) (string, error) {
		return d.key.sign(certificateOf(finished, time.Now()))
	})
	if done {
		d.log.InfoContext(ctx, "org: organization deleted", "organization_id", id)
	}
	return err
}
