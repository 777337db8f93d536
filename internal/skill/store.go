package skill

import (
	"context"

	"github.com/google/uuid"
)

// Store is what the Service needs of a database. Every method is one transaction and is safe for concurrent use.
//
// A skill is visible to a user if it is built in (no organization) or belongs to the user's organization. A skill that
// is not visible is treated exactly as if it did not exist. organizationID and userID name the actor; the caller has
// authenticated it.
type Store interface {
	// ListCategories returns the categories that have at least one listed skill visible to the organization, by
	// position, then name, then id.
	ListCategories(ctx context.Context, organizationID uuid.UUID) ([]Category, error)

	// ListSkills returns the visible skills that are not retired, in the order of their categories, then by position,
	// then id, with IsFavorite set for the user. offset and limit count skills; the caller has checked them.
	ListSkills(ctx context.Context, organizationID, userID uuid.UUID, offset, limit int) ([]Skill, error)

	// FindSkill returns one visible skill, retired or not, with IsFavorite set for the user. If there is none, the
	// error has the code fault.NotFound.
	FindSkill(ctx context.Context, organizationID, userID, skillID uuid.UUID) (Skill, error)

	// ListFavoriteSkills returns the user's favourites among the visible skills that are not retired, newest first,
	// then by skill id.
	ListFavoriteSkills(ctx context.Context, organizationID, userID uuid.UUID, offset, limit int) ([]Favorite, error)

	// AddFavoriteSkill stars a visible skill for the user. Starring it again changes nothing, its time included. If the
	// skill is not visible, the error has the code fault.NotFound.
	AddFavoriteSkill(ctx context.Context, organizationID, userID, skillID uuid.UUID) error

	// RemoveFavoriteSkill takes the star away. A skill that has no star, or does not exist, is no error.
	RemoveFavoriteSkill(ctx context.Context, organizationID, userID, skillID uuid.UUID) error

	// SaveBuiltinSkills makes the built-in categories and skills these ones, in one transaction: it inserts or updates
	// them by id with no organization, and retires the built-in skills that are not among them. A retired skill is no
	// longer listed but can still be found, because threads refer to it; it is no longer retired once it is among the
	// given ones again. Favourites and imported skills are not touched. Repeating the call changes nothing,
	// and two servers may make it at the same time.
	SaveBuiltinSkills(ctx context.Context, categories []Category, skills []Skill) error
}
