package chat

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/japan"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// NoticePeriod is the minimum time between the notification of a thread's owner and the deletion of the thread.
const NoticePeriod = 14 * 24 * time.Hour

// NoticeLookahead is the time by which owners are notified early of their other threads, so that they receive at most
// one notice a week.
const NoticeLookahead = 7 * 24 * time.Hour

const (
	notifyBatch = 10  // Maximum number of owners notified in one transaction.
	deleteBatch = 50  // Threads deleted in one transaction, because each may have many messages.
	clearBatch  = 500 // Threads whose notification one transaction clears.
)

// ExpiringThread is a thread whose owner was notified that it will be deleted.
type ExpiringThread struct {
	Thread
	DeletesAt time.Time // It is deleted at that time or soon after, unless it is touched or pinned.
}

// ExpiringCount counts a person's threads that will be deleted.
type ExpiringCount struct {
	Threads int
	First   *time.Time // The time of the first deletion; nil without threads.
}

// RetentionNotice is the content of a notice to an owner about threads that will be deleted.
type RetentionNotice struct {
	identity.Owner
	Days int // The setting of the organization or the project.
	ExpiringCount
}

// CountExpiring counts the owner's threads that will be deleted.
func (s *Service) CountExpiring(ctx context.Context, owner identity.Owner) (ExpiringCount, error) {
	return s.store.CountExpiring(ctx, owner)
}

// ListExpiring returns a page of the owner's threads that will be deleted, in the order of their deletion.
func (s *Service) ListExpiring(ctx context.Context, owner identity.Owner, offset, limit int) ([]ExpiringThread, error) {
	return s.store.ListExpiring(ctx, owner, offset, limit)
}

// retain notifies owners of threads that will be deleted, and deletes due threads. A failure is logged and does not
// prevent the other steps, and the next call continues.
func (s *Service) retain() {
	steps := []struct {
		what string
		most int
		do   func() (int, error)
	}{
		{"clearing outdated notifications", clearBatch, func() (int, error) {
			return s.store.ClearOutdatedNotices(s.root, clearBatch)
		}},
		{"notifying owners of due threads", 1, func() (int, error) {
			return s.store.NotifyOwners(s.root, notifyBatch, expiryNotification)
		}},
		{"deleting due threads", deleteBatch, s.deleteDue},
	}
	for _, step := range steps {
		for done := step.most; done >= step.most; {
			var err error
			if done, err = step.do(); err != nil {
				if s.root.Err() == nil {
					s.log.WarnContext(s.root, "chat: "+step.what+" failed, retrying later", "err", err)
				}
				break
			}
		}
	}
}

// deleteDue deletes a batch of due threads, and returns their number.
func (s *Service) deleteDue() (int, error) {
	deleted, err := s.store.DeleteDue(s.root, deleteBatch)
	for _, e := range deleted {
		s.events.ThreadDeleted(e.Readers, e.ThreadID)
	}
	if len(deleted) > 0 {
		s.log.InfoContext(s.root, "threads were deleted because they were not touched", "threads", len(deleted))
	}
	return len(deleted), err
}

// expiryNotification returns the notice for an owner.
func expiryNotification(t RetentionNotice) org.Notification {
	first := t.First.In(japan.Zone)
	return org.Notification{
		ID: uuidv7.New(), OrganizationID: &t.OrganizationID, UserID: &t.UserID, Level: org.LevelWarning,
		Title: fmt.Sprintf("%d件のチャットがまもなく削除されます", t.Threads),
		Body: fmt.Sprintf("組織またはプロジェクトの設定により、最後の質問から%d日が過ぎたチャットは、%sから順に削除されます。残すチャットは、一覧で「残す」を押してください。",
			t.Days, first.Format("1月2日")),
		URL: "/home/skill/leaving",
	}
}

// TemporaryLifetime is the lifetime of a temporary thread from its creation. The thread's page shows it to the owner.
const TemporaryLifetime = 24 * time.Hour

// expiryBatch is the maximum number of expired threads deleted in one transaction.
const expiryBatch = 100

// DeletedThread is a thread that was deleted.
type DeletedThread struct {
	Readers
	ThreadID uuid.UUID
	Running  *uuid.UUID // The answer that was being generated in it, or nil.
}

// deleteExpired deletes expired temporary threads and threads that are due by their organization's retention setting.
// Every server does it, so that no leader is needed.
func (s *Service) deleteExpired() {
	for s.expire() == expiryBatch {
	}
	s.retain()
}

// expire deletes a batch of expired threads, ends their running generations, and returns the number of threads.
func (s *Service) expire() int {
	expired, err := s.store.DeleteExpired(s.root, expiryBatch)
	if err != nil && s.root.Err() == nil {
		s.log.WarnContext(s.root, "chat: deleting temporary threads failed, retrying later", "err", err)
	}
	for _, e := range expired {
		if e.Running != nil {
			s.stop(*e.Running)
		}
		s.events.ThreadDeleted(e.Readers, e.ThreadID)
	}
	return len(expired)
}
