package skill

import (
	"context"

	"github.com/google/uuid"
)

// Store is the database of the Service and of a Library. Every method is one transaction and is safe for concurrent
// use.
//
// A skill is visible to a user if it is for all organizations, if the user's organization offers it to them, or if it
// is their own. Other skills are treated as if they did not exist. organizationID and userID identify the actor, whom
// the caller has authenticated.
type Store interface {
	// ListCategories returns the categories that have at least one listed skill visible to the user, by position, then
	// name, then id.
	ListCategories(ctx context.Context, organizationID, userID uuid.UUID) ([]Category, error)

	// ListSkills returns the visible skills that are not retired, not hidden and not of the browser extension, in the
	// order of their categories, then by position, then id, with IsFavorite set for the user. It does not read prompts,
	// examples and documents. offset and limit count skills; the caller has validated them.
	ListSkills(ctx context.Context, organizationID, userID uuid.UUID, offset, limit int) ([]Skill, error)

	// FindSkill returns one skill, retired or not, with IsFavorite set for the user. The skill must be visible to the
	// user, or the user must have a thread with it; in the latter case Withdrawn may be set. Otherwise the error has
	// the code fault.NotFound.
	FindSkill(ctx context.Context, organizationID, userID, skillID uuid.UUID) (Skill, error)

	// ListFavoriteSkills returns the user's favourites among the visible skills that are not retired, newest first,
	// then by skill id.
	ListFavoriteSkills(ctx context.Context, organizationID, userID uuid.UUID, offset, limit int) ([]Favorite, error)

	// AddFavoriteSkill stars a visible skill for the user. A repeated call changes nothing, including the time. If the
	// skill is not visible, the error has the code fault.NotFound.
	AddFavoriteSkill(ctx context.Context, organizationID, userID, skillID uuid.UUID) error

	// RemoveFavoriteSkill removes the star. A missing star or skill is not an error.
	RemoveFavoriteSkill(ctx context.Context, organizationID, userID, skillID uuid.UUID) error

	// SaveBuiltinSkills replaces the built-in categories and skills, in one transaction: it inserts or updates them by
	// id without an organization, and retires all other built-in skills. A retired skill is not listed but can still be
	// found, because threads refer to it. If it is given again, it is no longer retired. Favourites and imported skills
	// are not changed. A repeated call changes nothing, and servers may call it concurrently.
	SaveBuiltinSkills(ctx context.Context, categories []Category, skills []Skill) error

	// Skills as their editors see and change them, for a Library. For skills that the Editor may not edit, the error is
	// ErrNoSkill.

	// SaveSkill stores a new skill, if id is uuid.Nil, or a new version, and returns the skill. A repeated request
	// returns the skill in its current state; with different content it returns ErrRequestConflict. Errors: ErrChanged
	// if the edited version is not the newest, fault.Conflict for a name in use or too many skills, fault.Invalid for
	// missing categories, documents or members. Documents must be the Editor's or already belong to the skill.
	SaveSkill(ctx context.Context, m Editor, id uuid.UUID, s Input) (CustomSkill, error)

	// SetArchived archives or restores a skill. A repeated call changes nothing.
	SetArchived(ctx context.Context, m Editor, id uuid.UUID, archived bool) (CustomSkill, error)

	// FindCustomSkill returns one skill.
	FindCustomSkill(ctx context.Context, m Editor, id uuid.UUID) (CustomSkill, error)

	// ListCustomSkills returns a page of a shelf, last saved first, without prompts, and the total number.
	ListCustomSkills(
		ctx context.Context, m Editor, shelf Shelf, archived bool, offset, limit int,
	) ([]CustomSkill, int, error)

	// ListVersions returns the versions of a skill, newest first.
	ListVersions(ctx context.Context, m Editor, id uuid.UUID, offset, limit int) ([]Version, int, error)

	// FindVersion returns one version.
	FindVersion(ctx context.Context, m Editor, id uuid.UUID, version int) (Version, error)

	// FindTemplate returns the content of a skill to copy: one that the Editor may edit, a built-in one, or for an
	// administrator an imported one of the organization.
	FindTemplate(ctx context.Context, m Editor, id uuid.UUID) (Content, error)

	// SaveDraft stores the content of an editor's slot for a trial, and returns the id of its skill. If the person then
	// has more drafts than slots, the one with the oldest trial is removed.
	SaveDraft(ctx context.Context, m Editor, slot uuid.UUID, c Content, slots int) (uuid.UUID, error)

	// RequestPublication stores a request to publish the newest version of a person's own skill. It replaces a pending
	// one, which gets another id if the version differs.
	RequestPublication(ctx context.Context, m Editor, id uuid.UUID, note string) (CustomSkill, error)

	// WithdrawRequest removes a pending request, if there is one.
	WithdrawRequest(ctx context.Context, m Editor, id uuid.UUID) (CustomSkill, error)

	// ListRequests returns the organization's pending requests, oldest first.
	ListRequests(ctx context.Context, m Editor, offset, limit int) ([]Request, int, error)

	// FindRequest returns one request of the organization with the content to publish, or ErrNoRequest.
	FindRequest(ctx context.Context, m Editor, id uuid.UUID) (Request, error)

	// DecideRequest approves or rejects a request. An approved skill becomes a skill of the organization, or a new
	// version of the skill published from it before. Repeating the same decision changes nothing; a different one
	// returns fault.Conflict.
	DecideRequest(ctx context.Context, m Editor, id uuid.UUID, d Decision) error

	// HideSkill hides a skill that all organizations have from the organization's members, or shows it again.
	HideSkill(ctx context.Context, m Editor, id uuid.UUID, hidden bool) error

	// ListHidden returns the skills hidden by the organization.
	ListHidden(ctx context.Context, m Editor) ([]Skill, error)

	// ListAllCategories returns all categories of the organization, including empty ones.
	ListAllCategories(ctx context.Context, organizationID uuid.UUID) ([]KeyedCategory, error)

	// Changes of the categories that administrators create. For other categories, the error is ErrNoCategory.

	// CreateCategory creates a category, shown after the others. It returns fault.Conflict if the organization has that
	// name.
	CreateCategory(ctx context.Context, m Editor, name string) (Category, error)

	// RenameCategory renames a category. It returns fault.Conflict if another category has that name.
	RenameCategory(ctx context.Context, m Editor, id uuid.UUID, name string) (Category, error)

	// RemoveCategory removes a category and moves its skills, and their versions, to the replacement. Without a
	// replacement it returns fault.Invalid if skills or versions are in the category.
	RemoveCategory(ctx context.Context, m Editor, id uuid.UUID, replacement *uuid.UUID) error

	// OrderCategories sets the order of all categories of the organization. It returns ErrCategoryOrder if ids are not
	// exactly those categories.
	OrderCategories(ctx context.Context, m Editor, ids []uuid.UUID) error
}
