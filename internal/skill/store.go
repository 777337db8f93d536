package skill

import (
	"context"

	"github.com/google/uuid"
)

// Store is what the Service needs of a database. Every method is one transaction and is safe for concurrent use.
//
// A skill is visible to a user if it is for all organizations, or the user's organization offers it to them, or it is
// their own. A skill that is not visible is treated exactly as if it did not exist. organizationID and userID name the actor, whom the caller
// has authenticated.
type Store interface {
	// ListCategories returns the categories that have at least one listed skill visible to the user, by position, then
	// name, then id.
	ListCategories(ctx context.Context, organizationID, userID uuid.UUID) ([]Category, error)

	// ListSkills returns the visible skills that are neither retired, hidden nor of the browser extension, in the order
	// of their categories, then by position, then id, with IsFavorite set for the user. Prompts, examples and documents
	// are not read. offset and limit count skills; the caller has checked them.
	ListSkills(ctx context.Context, organizationID, userID uuid.UUID, offset, limit int) ([]Skill, error)

	// FindSkill returns one skill, retired or not, that is visible or that the user has a thread with, in which case
	// Withdrawn may be set, with IsFavorite set for the user. If there is none, the error has the code fault.NotFound.
	FindSkill(ctx context.Context, organizationID, userID, skillID uuid.UUID) (Skill, error)

	// ListFavoriteSkills returns the user's favourites among the visible skills that are not retired, newest first,
	// then by skill id.
	ListFavoriteSkills(ctx context.Context, organizationID, userID uuid.UUID, offset, limit int) ([]Favorite, error)

	// AddFavoriteSkill stars a visible skill for the user. Starring it again changes nothing, its time included. If the
	// skill is not visible, the error has the code fault.NotFound.
	AddFavoriteSkill(ctx context.Context, organizationID, userID, skillID uuid.UUID) error

	// RemoveFavoriteSkill removes the star. It is no error if the skill has none or does not exist.
	RemoveFavoriteSkill(ctx context.Context, organizationID, userID, skillID uuid.UUID) error

	// SaveBuiltinSkills replaces the built-in categories and skills, in one transaction: it inserts or updates them by
	// id without an organization, and retires the built-in skills that are not among them. A retired skill is not
	// listed but can still be found, because threads refer to it; if it is given again, it is no longer retired.
	// Favourites and imported skills are not changed. Repeating the call changes nothing, and two servers may make it
	// at the same time.
	SaveBuiltinSkills(ctx context.Context, categories []Category, skills []Skill) error
}
