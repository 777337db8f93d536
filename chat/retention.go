package chat

import (
	"context"
	"fmt"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// KeptAfterTelling is how long a thread is kept at least after its owner was told that it will be deleted.
const KeptAfterTelling = 14 * 24 * time.Hour

// TellingAhead is how much earlier than necessary people are told of their other threads, so that they are told once
// a week at most.
const TellingAhead = 7 * 24 * time.Hour

const (
	tellBatch  = 10  // People who are told in one transaction.
	leaveBatch = 50  // Threads that one transaction deletes: each may have many messages.
	clearBatch = 500 // Threads of which one transaction forgets that their owners were told.
)

// Leaving is a thread that will be deleted, as its owner was told.
type Leaving struct {
	Thread
	DeletesAt time.Time // It is deleted then or soon after, unless it is touched or pinned.
}

// LeavingCount counts a person's threads that will be deleted.
type LeavingCount struct {
	Threads int
	First   *time.Time // When the first one is deleted. Nil: there are none.
}

// Telling is what a person is told: that threads were found that will be deleted.
type Telling struct {
	Owner Owner
	Days  int // The organization's setting.
	LeavingCount
}

// RetentionStore deletes threads that were not touched for as many days as their organization has set, 14 days after
// their owners were told or later. Pinned threads, temporary ones, and those in which an answer is being generated are
// kept. Servers that call a method at the same time share the work.
type RetentionStore interface {
	// CountLeaving counts the owner's threads that will be deleted.
	CountLeaving(ctx context.Context, owner Owner) (LeavingCount, error)

	// ListLeaving returns these threads, the first one to be deleted first.
	ListLeaving(ctx context.Context, owner Owner, offset, limit int) ([]Leaving, error)

	// ForgetTold forgets that owners were told of threads before their organization's setting changed, of at most limit
	// threads, and returns their number.
	ForgetTold(ctx context.Context, limit int) (int, error)

	// TellOwners records that people are told of their threads that have to be deleted, together with those that have
	// to be within TellingAhead, and adds the notice that is made for each person. It tells at most limit people and
	// returns their number.
	TellOwners(ctx context.Context, limit int, notice func(Telling) org.Notification) (int, error)

	// DeleteLeft deletes threads whose time is over, at most limit, counts them in the audit log, and returns them.
	DeleteLeft(ctx context.Context, limit int) ([]Expired, error)
}

// CountLeaving counts the owner's threads that will be deleted.
func (s *Service) CountLeaving(ctx context.Context, owner Owner) (LeavingCount, error) {
	return s.retention.CountLeaving(ctx, owner)
}

// ListLeaving returns a page of the owner's threads that will be deleted, the first one to be deleted first.
func (s *Service) ListLeaving(ctx context.Context, owner Owner, offset, limit int) ([]Leaving, error) {
	return s.retention.ListLeaving(ctx, owner, offset, limit)
}

// retain tells people of threads that will be deleted, and deletes those whose time is over. A failure is logged, and
// the rest is done the next time.
func (s *Service) retain() {
	steps := []struct {
		what string
		most int
		do   func() (int, error)
	}{
		{"forgetting what was told", clearBatch, func() (int, error) {
			return s.retention.ForgetTold(s.root, clearBatch)
		}},
		{"telling of threads that will be deleted", 1, func() (int, error) {
			return s.retention.TellOwners(s.root, tellBatch, leavingNotice)
		}},
		{"deleting threads whose time is over", leaveBatch, s.deleteLeft},
	}
	for _, step := range steps {
		for done := step.most; done >= step.most; {
			var err error
			if done, err = step.do(); err != nil {
				if s.root.Err() == nil {
					s.log.WarnContext(s.root, step.what+" failed, trying again later", "err", err)
				}
				return
			}
		}
	}
}

// deleteLeft deletes a batch of threads whose time is over, and returns how many there were.
func (s *Service) deleteLeft() (int, error) {
	left, err := s.retention.DeleteLeft(s.root, leaveBatch)
	for _, e := range left {
		s.events.ThreadDeleted(e.Owner, e.ThreadID)
	}
	if len(left) > 0 {
		s.log.InfoContext(s.root, "threads were deleted because they were not touched", "threads", len(left))
	}
	return len(left), err
}

// leavingNotice returns the notice for a person.
func leavingNotice(t Telling) org.Notification {
	first := t.First.In(time.FixedZone("JST", 9*60*60))
	return org.Notification{
		ID: newID(), OrganizationID: &t.Owner.OrganizationID, UserID: &t.Owner.UserID, Level: org.LevelWarning,
		Title: fmt.Sprintf("%d件のチャットがまもなく削除されます", t.Threads),
		Body: fmt.Sprintf("組織の設定により、最後の質問から%d日が過ぎたチャットは、%sから順に削除されます。残すチャットは、一覧で「残す」を押してください。",
			t.Days, first.Format("1月2日")),
		URL: "/home/skill/leaving",
	}
}
