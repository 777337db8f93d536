package project

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
	"golang.org/x/text/unicode/norm"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/runes"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
	"github.com/tsumugi-ai/tsumugi/internal/work"
)

// Store is the database of the Service. Without a role in a project, the error is ErrNoProject, as for a project that
// does not exist. Every change is logged in the audit log.
type Store interface {
	// ProjectRole returns the role of a member in a project, or ErrNoProject.
	ProjectRole(ctx context.Context, owner identity.Owner, id uuid.UUID) (Role, error)

	// ListProjects returns the projects of a member in a state whose name contains a text, without their instructions,
	// and their total number. Deleted ones are listed for their managers only.
	ListProjects(ctx context.Context, owner identity.Owner, search string, state State, order Order, offset, limit int) (
		[]Project, int, error)

	// FindProject returns a project.
	FindProject(ctx context.Context, owner identity.Owner, id uuid.UUID) (Project, error)

	// CreateProject creates a project with the actor as its manager. For a repeated call it returns the project of the
	// first call. Errors: fault.RequestConflict, ErrTooMany, and fault.Invalid for an unknown skill.
	CreateProject(ctx context.Context, actor identity.Actor, call Call) (Project, error)

	// ChangeProject calls change with the current project, and stores the returned one with the next version. Errors:
	// that of change, and fault.Invalid for an unknown skill.
	ChangeProject(ctx context.Context, actor identity.Actor, id uuid.UUID, change func(Project) (Project, error)) (
		Project, error)

	// ListGrants returns the grants of a project: the organization, groups and people by name.
	ListGrants(ctx context.Context, owner identity.Owner, id uuid.UUID) (Grants, error)

	// SetGrants replaces the grants of a project. It calls check with the current project. Errors: that of check,
	// fault.NotFound for an unknown subject, with its field, and ErrLastManager.
	SetGrants(ctx context.Context, actor identity.Actor, id uuid.UUID, grants []Grant, check func(Project) error) (
		Grants, error)

	// LeaveProject removes the actor's own grant. Errors: ErrLastManager and ErrByGroup.
	LeaveProject(ctx context.Context, actor identity.Actor, id uuid.UUID) error

	// FindSubjects returns active members and groups of an organization whose name or address contains a text, sorted by
	// kind, groups before members, and by name. If without is not nil, members and groups with a grant in that project are
	// omitted.
	FindSubjects(ctx context.Context, organizationID uuid.UUID, search string, without *uuid.UUID, offset, limit int) (
		[]Subject, error)

	// ProjectSources returns the files of a project whose name contains a text, newest first, and their total number.
	ProjectSources(ctx context.Context, owner identity.Owner, id uuid.UUID, search string, offset, limit int) (
		[]Source, int, error)

	// ShareSources adds own files of the actor to a project, and returns them. Files whose content the project has are
	// not added; the result contains the files of the project instead. It calls check with the current project. Errors:
	// that of check, fault.NotFound for an unknown file, with its field, ErrFull, and fault.StorageLimit.
	ShareSources(ctx context.Context, actor identity.Actor, id uuid.UUID, sourceIDs []uuid.UUID,
		check func(Project) error) ([]Source, error)

	// RemoveSource removes a file from a project. It calls check with the current project. Errors: that of check, and
	// fault.NotFound for an unknown file.
	RemoveSource(ctx context.Context, actor identity.Actor, id, sourceID uuid.UUID, check func(Project) error) error

	// The end of projects, and projects for administrators. For a project of another organization, the error is
	// ErrNoProject.

	// ChangeLifecycle archives, deletes or restores a project, also a deleted one. It calls check with the current
	// project, whose Role may be empty, and with the current state of the actor, nil for a former member. It names a
	// manager if the restored project has none, and notifies the other managers of an archived or deleted project. Threads
	// of a restored project are not deleted by a retention setting before their owners are notified again, because they
	// could not read the notices. Errors: that of check, and ErrTooMany.
	ChangeLifecycle(ctx context.Context, actor identity.Actor, id uuid.UUID, to State,
		check func(project Project, actor *org.Member) error) error

	// PurgeProjects removes some rows of projects that were deleted more than age ago. more is false if nothing is left.
	PurgeProjects(ctx context.Context, age time.Duration) (more bool, err error)

	// ListManaged returns the projects of an organization in a state whose name contains a text, by name, and their
	// total number.
	ListManaged(ctx context.Context, organizationID uuid.UUID, search string, state State, offset, limit int) (
		[]Managed, int, error)

	// NameManager makes a member a manager of a project. It calls check with the current state of the actor. Errors:
	// that of check, ErrHasManager for a project with an active manager, and fault.NotFound for an unknown member.
	NameManager(ctx context.Context, actor identity.Actor, id, userID uuid.UUID, check func(actor *org.Member) error) error

	// ProjectUsage returns the use of a project this month.
	ProjectUsage(ctx context.Context, organizationID, id uuid.UUID) (Usage, error)

	// Channels.

	// FindChannel returns the project that a channel is bound to, also an archived or deleted one, or nil.
	FindChannel(ctx context.Context, owner identity.Owner, installationID uuid.UUID, channel string) (*Binding, error)

	// BindChannel binds a channel to the project that the actor manages and that has a name, regardless of width and
	// case. An archived project counts only if no other one has the name. It calls check with the project. Errors: that
	// of check, ErrNoManaged, ErrSameName, ErrBound if the channel is bound to another project that is not deleted, and
	// ErrManyChannels.
	BindChannel(ctx context.Context, actor identity.Actor, name string, c Channel, check func(Project) error) (Project,
		error)

	// UnbindChannel removes the binding of a channel. It calls check with the project, whose Role may be empty and
	// which may be deleted, and with the current state of the actor, nil for a former member. Errors: that of check,
	// ErrNoProject and ErrNoChannel.
	UnbindChannel(ctx context.Context, actor identity.Actor, projectID, id uuid.UUID,
		check func(project Project, actor *org.Member) error) error

	// ListChannels returns the channels that are bound to a project, oldest binding first.
	ListChannels(ctx context.Context, owner identity.Owner, id uuid.UUID) ([]Channel, error)
}

// Config configures a Service. Its functions are called after changes are committed. They must not block; if one is
// nil, it is not called.
type Config struct {
	Changed        func(id uuid.UUID) // The project or its grants have changed, or it was deleted or restored.
	SourcesChanged func(id uuid.UUID) // Files were added or removed.
}

// Service manages projects. It is safe for concurrent use.
type Service struct {
	store Store
	cfg   Config
	group *work.Group
}

// NewService returns a Service. It starts no goroutine before Start.
func NewService(store Store, cfg Config, log *slog.Logger) *Service {
	ignore := func(uuid.UUID) {}
	if cfg.Changed == nil {
		cfg.Changed = ignore
	}
	if cfg.SourcesChanged == nil {
		cfg.SourcesChanged = ignore
	}
	return &Service{store: store, cfg: cfg, group: work.NewGroup(log)}
}

// Start begins to remove deleted projects that can no longer be restored. It must be called once; the caller must then
// call Stop.
func (s *Service) Start() {
	s.group.Every(purgeInterval, nil, s.Purge, "project: removing deleted projects failed, retrying")
}

// Stop ends the goroutine of Start after its current step and waits for it.
func (s *Service) Stop() { s.group.Stop() }

// require returns an error unless the role of a member in a project is at least a role: ErrNoProject without a role,
// and ErrForbidden for a weaker one.
func (s *Service) require(ctx context.Context, owner identity.Owner, id uuid.UUID, least Role) error {
	role, err := s.store.ProjectRole(ctx, owner, id)
	if err == nil && !role.atLeast(least) {
		return ErrForbidden
	}
	return err
}

// List returns a page of the actor's projects, and their total number.
func (s *Service) List(ctx context.Context, actor identity.Actor, search string, state State, order Order, offset,
	limit int,
) ([]Project, int, error) {
	return s.store.ListProjects(ctx, actor.Owner(), search, state, order, offset, limit)
}

// Find returns a project of the actor.
func (s *Service) Find(ctx context.Context, actor identity.Actor, id uuid.UUID) (Project, error) {
	return s.store.FindProject(ctx, actor.Owner(), id)
}

// Create creates a project that the actor manages. A repeated call with the same request id returns the same project.
func (s *Service) Create(ctx context.Context, actor identity.Actor, requestID uuid.UUID, draft Draft) (Project, error) {
	draft, err := draft.checked()
	if err != nil {
		return Project{}, err
	}
	content, err := json.Marshal(draft)
	if err != nil {
		return Project{}, err
	}
	return s.store.CreateProject(ctx, actor, Call{
		RequestID: requestID, RequestHash: sha256.Sum256(content), ID: uuidv7.New(), Draft: draft,
	})
}

// Edit changes a project. Editors change the description, the instructions and the skill, managers everything. If the
// project has changed since edit.Version, the error is a *VersionError.
func (s *Service) Edit(ctx context.Context, actor identity.Actor, id uuid.UUID, edit Edit) (Project, error) {
	var err error
	if edit.Draft, err = edit.checked(); err != nil {
		return Project{}, err
	}
	if err := edit.checkLimits(); err != nil {
		return Project{}, err
	}
	return s.change(ctx, actor, id, func(current Project) (Project, error) {
		switch {
		case !current.Role.atLeast(Editor):
			return current, ErrForbidden
		case current.Version != edit.Version:
			return current, &VersionError{ErrVersion, current}
		case !current.Role.atLeast(Manager) && edit.needsManager(current):
			return current, ErrForbidden
		}
		return edit.in(current), nil
	})
}

// change changes a project and publishes the change.
func (s *Service) change(ctx context.Context, actor identity.Actor, id uuid.UUID,
	change func(Project) (Project, error),
) (Project, error) {
	p, err := s.store.ChangeProject(ctx, actor, id, change)
	if err == nil {
		s.cfg.Changed(id)
	}
	return p, err
}

// Grants returns the grants of a project of the actor.
func (s *Service) Grants(ctx context.Context, actor identity.Actor, id uuid.UUID) (Grants, error) {
	return s.store.ListGrants(ctx, actor.Owner(), id)
}

// SetGrants replaces the grants of a project. For its managers. version is the version of the project that was edited;
// if the project has changed since, the error is a *VersionError.
func (s *Service) SetGrants(ctx context.Context, actor identity.Actor, id uuid.UUID, version int, grants []Grant) (
	Grants, error,
) {
	if err := checkGrants(actor, grants); err != nil {
		return Grants{}, err
	}
	stored, err := s.store.SetGrants(ctx, actor, id, grants, func(current Project) error {
		switch {
		case !current.Role.atLeast(Manager):
			return ErrForbidden
		case current.Version != version:
			return &VersionError{ErrVersion, current}
		}
		return nil
	})
	if err == nil {
		s.cfg.Changed(id)
	}
	return stored, err
}

// Leave removes the actor's own grant. Errors: ErrLastManager and ErrByGroup.
func (s *Service) Leave(ctx context.Context, actor identity.Actor, id uuid.UUID) error {
	err := s.store.LeaveProject(ctx, actor, id)
	if err == nil {
		s.cfg.Changed(id)
	}
	return err
}

// Subjects returns members and groups whose name or address contains a text, for the managers of a project. If
// withoutGrant is true, it omits members and groups that have a grant in the project.
func (s *Service) Subjects(ctx context.Context, actor identity.Actor, id uuid.UUID, search string, withoutGrant bool,
	offset, limit int,
) ([]Subject, error) {
	if err := s.require(ctx, actor.Owner(), id, Manager); err != nil {
		return nil, err
	}
	var without *uuid.UUID
	if withoutGrant {
		without = &id
	}
	return s.store.FindSubjects(ctx, actor.OrganizationID, search, without, offset, limit)
}

// Sources returns a page of the files of a project whose name contains a text, newest first, and their total number.
func (s *Service) Sources(ctx context.Context, actor identity.Actor, id uuid.UUID, search string, offset, limit int) (
	[]Source, int, error,
) {
	return s.store.ProjectSources(ctx, actor.Owner(), id, search, offset, limit)
}

// ShareSources adds own files of the actor to a project, whose editor the actor must be, and returns them as files of
// the project.
func (s *Service) ShareSources(ctx context.Context, actor identity.Actor, id uuid.UUID, sourceIDs []uuid.UUID) (
	[]Source, error,
) {
	if len(sourceIDs) == 0 || len(sourceIDs) > maxAtOnce {
		return nil, fault.InvalidField("data_source_ids", "ファイルは1件以上%d件以下で指定してください。", maxAtOnce)
	}
	shared, err := s.store.ShareSources(ctx, actor, id, sourceIDs, Project.CheckAdd)
	if err == nil {
		s.cfg.SourcesChanged(id)
	}
	return shared, err
}

// RemoveSource removes a file from a project, whose editor the actor must be. The file is deleted unless a member owns
// it, or a skill or another project uses it.
func (s *Service) RemoveSource(ctx context.Context, actor identity.Actor, id, sourceID uuid.UUID) error {
	err := s.store.RemoveSource(ctx, actor, id, sourceID, Project.checkRemove)
	if err == nil {
		s.cfg.SourcesChanged(id)
	}
	return err
}

// SourceAdded publishes that a file was uploaded into a project.
func (s *Service) SourceAdded(id uuid.UUID) { s.cfg.SourcesChanged(id) }

// checked validates a draft, and returns its stored form.
func (d Draft) checked() (Draft, error) {
	d.Name = norm.NFC.String(strings.TrimSpace(d.Name))
	d.Description = norm.NFC.String(strings.TrimSpace(d.Description))
	d.Instructions = strings.TrimSpace(d.Instructions)
	switch {
	case runes.Blank(d.Name):
		return d, fault.InvalidField("name", "プロジェクト名を入力してください。")
	case utf8.RuneCountInString(d.Name) > maxName:
		return d, fault.InvalidField("name", "プロジェクト名は%d文字以内で入力してください。", maxName)
	case !utf8.ValidString(d.Name) || strings.ContainsFunc(d.Name, runes.NotInName):
		return d, fault.InvalidField("name", "プロジェクト名に使えない文字が含まれています。")
	case utf8.RuneCountInString(d.Description) > maxDescription:
		return d, fault.InvalidField("description", "説明は1,000文字以内で入力してください。")
	case unstorable(d.Description):
		return d, fault.InvalidField("description", "説明に使えない文字が含まれています。")
	case utf8.RuneCountInString(d.Instructions) > maxInstructions:
		return d, fault.InvalidField("instructions", "指示は32,000文字以内で入力してください。")
	case unstorable(d.Instructions):
		return d, fault.InvalidField("instructions", "指示に使えない文字が含まれています。")
	}
	return d, nil
}

// unstorable reports whether the database refuses a text.
func unstorable(text string) bool { return !utf8.ValidString(text) || strings.ContainsRune(text, 0) }

func (e Edit) checkLimits() error {
	switch {
	case e.RetentionDays != nil && (*e.RetentionDays < minRetention || *e.RetentionDays > maxRetention):
		return fault.InvalidField("retention_days", "日数は30以上3,650以下で指定してください。")
	case e.StorageLimit != nil && *e.StorageLimit < 1:
		return fault.InvalidField("storage_limit", "容量は1バイト以上で指定してください。")
	}
	return nil
}

// needsManager reports whether the edit changes what only managers may change.
func (e Edit) needsManager(p Project) bool {
	return e.Name != p.Name || e.Archived != (p.ArchivedAt != nil) || !equal(e.RetentionDays, p.RetentionDays) ||
		!equal(e.StorageLimit, p.StorageLimit)
}

func equal[T comparable](a, b *T) bool { return a == b || a != nil && b != nil && *a == *b }

// in returns a project with the edit.
func (e Edit) in(p Project) Project {
	p.Name, p.Description, p.Instructions, p.SkillID = e.Name, e.Description, e.Instructions, e.SkillID
	p.RetentionDays, p.StorageLimit = e.RetentionDays, e.StorageLimit
	return p.withArchived(e.Archived)
}

// checkGrants validates the input for the grants of a project.
func checkGrants(actor identity.Actor, grants []Grant) error {
	if len(grants) > MaxGrants {
		return fault.InvalidField("grants", "一つのプロジェクトに追加できるメンバーとグループは、合わせて%d件までです。", MaxGrants)
	}
	seen := make(map[uuid.UUID]bool, len(grants))
	for i, g := range grants {
		field := fmt.Sprintf("grants[%d].", i)
		switch {
		case !g.Role.Valid():
			return fault.InvalidField(field+"role", "viewer、editor、manager のいずれかを指定してください。")
		case g.Subject.Kind != User && g.Subject.Kind != Group && g.Subject.Kind != Organization:
			return fault.InvalidField(field+"subject.kind", "user、group、organization のいずれかを指定してください。")
		case g.Subject.Kind == Organization && g.Subject.ID != actor.OrganizationID:
			return NoSubject(i)
		case seen[g.Subject.ID]:
			return fault.InvalidField(field+"subject.id", "同じメンバーまたはグループが二度指定されています。")
		}
		seen[g.Subject.ID] = true
	}
	return nil
}

// NoSubject returns the error for the unknown subject of a grant, by its index.
func NoSubject(i int) error {
	unknown := fault.InvalidField(fmt.Sprintf("grants[%d].subject.id", i),
		"メンバーまたはグループが見つかりません。選び直してください。")
	unknown.Code = fault.NotFound
	return unknown
}
