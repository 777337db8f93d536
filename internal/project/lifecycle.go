package project

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// purgeInterval is the interval between removals of deleted projects.
const purgeInterval = 10 * time.Minute

// Archive archives a project, or ends that. For its managers, and for administrators.
func (s *Service) Archive(ctx context.Context, actor identity.Actor, id uuid.UUID, archived bool) error {
	to := Active
	if archived {
		to = Archived
	}
	return s.changeLifecycle(ctx, actor, id, to)
}

// Delete deletes a project. It cannot be opened afterwards. For its managers, and for administrators.
func (s *Service) Delete(ctx context.Context, actor identity.Actor, id uuid.UUID) error {
	return s.changeLifecycle(ctx, actor, id, Deleted)
}

// Restore restores a project that was deleted less than keptFor ago. For its managers, and for administrators.
func (s *Service) Restore(ctx context.Context, actor identity.Actor, id uuid.UUID) error {
	err := s.store.ChangeLifecycle(ctx, actor, id, Active, func(p Project, member *org.Member) error {
		if err := checkLifecycle(p, member); err != nil {
			return err
		}
		switch {
		case p.DeletedAt == nil:
			return errNotDeleted
		case time.Since(*p.DeletedAt) >= keptFor: // Purge may have removed a part of it.
			return ErrNoProject
		}
		return nil
	})
	if err == nil {
		s.cfg.Changed(id)
	}
	return err
}

func (s *Service) changeLifecycle(ctx context.Context, actor identity.Actor, id uuid.UUID, to State) error {
	err := s.store.ChangeLifecycle(ctx, actor, id, to, func(p Project, member *org.Member) error {
		if p.DeletedAt != nil {
			return ErrNoProject
		}
		return checkLifecycle(p, member)
	})
	if err == nil {
		s.cfg.Changed(id)
	}
	return err
}

// checkLifecycle refuses an actor who neither manages a project nor administers the organization. For others than
// members, the project does not exist.
func checkLifecycle(p Project, actor *org.Member) error {
	switch {
	case actor == nil || actor.State != identity.StateActive:
		return ErrNoProject
	case actor.Role.IsAdmin() || p.Role.atLeast(Manager):
		return nil
	case p.Role == "" || p.DeletedAt != nil:
		return ErrNoProject
	}
	return ErrForbidden
}

// Purge removes projects that were deleted keptFor ago, with their files and threads.
func (s *Service) Purge(ctx context.Context) error {
	for {
		more, err := s.store.PurgeProjects(ctx, keptFor)
		if err != nil || !more {
			return err
		}
	}
}

// Managed returns a page of the projects of the actor's organization, by name, and their total number. For
// administrators.
func (s *Service) Managed(ctx context.Context, actor identity.Actor, search string, state State, offset, limit int) (
	[]Managed, int, error,
) {
	if !actor.Role.IsAdmin() {
		return nil, 0, identity.ErrForbidden
	}
	return s.store.ListManaged(ctx, actor.OrganizationID, search, state, offset, limit)
}

// NameManager makes a member the manager of a project without an active manager. For administrators.
func (s *Service) NameManager(ctx context.Context, actor identity.Actor, id, userID uuid.UUID) error {
	if !actor.Role.IsAdmin() {
		return identity.ErrForbidden
	}
	err := s.store.NameManager(ctx, actor, id, userID, func(actor *org.Member) error {
		if actor == nil || actor.State != identity.StateActive || !actor.Role.IsAdmin() {
			return identity.ErrForbidden
		}
		return nil
	})
	if err == nil {
		s.cfg.Changed(id)
	}
	return err
}

// Usage returns the use of a project this month. For its managers.
func (s *Service) Usage(ctx context.Context, actor identity.Actor, id uuid.UUID) (Usage, error) {
	if err := s.require(ctx, actor.Owner(), id, Manager); err != nil {
		return Usage{}, err
	}
	return s.store.ProjectUsage(ctx, actor.OrganizationID, id)
}

// ManagerNotice returns the notice for a member who has become the manager of a project that had none.
func ManagerNotice(organizationID, userID uuid.UUID, projectName string) org.Notification {
	return org.Notification{
		ID: uuidv7.New(), OrganizationID: &organizationID, UserID: &userID, Level: org.LevelInfo,
		Title: "プロジェクト「" + projectName + "」の管理者になりました",
		Body: "管理者がいなくなったため、あなたがプロジェクトの管理者になりました。" +
			"プロジェクトの「メンバー」で、ほかの人を管理者にすることもできます。",
	}
}

// EndNotice returns the notice for a manager about a project that another person, by, has archived or deleted.
func EndNotice(organizationID, userID uuid.UUID, projectName, by string, deleted bool) org.Notification {
	n := org.Notification{
		ID: uuidv7.New(), OrganizationID: &organizationID, UserID: &userID, Level: org.LevelInfo,
		Title: "プロジェクト「" + projectName + "」がアーカイブされました",
		Body:  by + "さんが行いました。閲覧だけできます。プロジェクトの「設定」から、いつでも戻せます。",
	}
	if deleted {
		n.Title = "プロジェクト「" + projectName + "」が削除されました"
		n.Body = by + "さんが行いました。30日以内なら、プロジェクトの一覧の「削除済み」から、ファイルとチャットも復元できます。"
	}
	return n
}
