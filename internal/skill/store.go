package skill

import (
	"context"

	"github.com/google/uuid"
)

// Store is the database of the Service. Every method is one transaction and is safe for concurrent use.
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
}
