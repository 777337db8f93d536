package chat

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// Review is a rating as shown to an organization's administrators.
type Review struct {
	ID        uuid.UUID // The id of the answer.
	At        time.Time
	SkillID   *uuid.UUID // Nil for a member's own skill, which only its owner may know.
	SkillName string     // "" for a member's own skill.
	Model     string     // "" if no model was called.
	Rating    Rating
	Comment   string // Also "" for ratings from before administrators could see comments.
	WithText  bool   // The person has chosen to send the question and the answer.
	Person    string // The name of the person; "" unless WithText.
}

// ReviewText is a review with the question and the answer, which are "" unless WithText.
type ReviewText struct {
	Review
	Question string
	Answer   string
}

// SkillRatings counts the ratings of a skill's answers. All skills of individual members are one entry.
type SkillRatings struct {
	SkillID   *uuid.UUID
	SkillName string
	Good      int
	Bad       int
}

// ReviewQuery selects reviews. Zero values select all.
type ReviewQuery struct {
	Rating        Rating
	SkillID       *uuid.UUID
	Search        string // Part of the comment.
	From, To      time.Time
	Offset, Limit int
}

// Reviewer shows an organization's ratings to its administrators.
type Reviewer struct {
	store Store
}

// NewReviewer returns a Reviewer.
func NewReviewer(store Store) *Reviewer { return &Reviewer{store: store} }

// List returns a page of the reviews in the actor's organization, newest first, and their total number.
func (r *Reviewer) List(ctx context.Context, actor identity.Actor, query ReviewQuery) ([]Review, int, error) {
	if !actor.Role.IsAdmin() {
		return nil, 0, org.ErrForbidden
	}
	return r.store.ListReviews(ctx, actor.OrganizationID, query)
}

// Each calls do for reviews in the actor's organization, newest first. For administrators.
func (r *Reviewer) Each(ctx context.Context, actor identity.Actor, query ReviewQuery, do func(Review)) error {
	if !actor.Role.IsAdmin() {
		return org.ErrForbidden
	}
	return r.store.EachReview(ctx, actor.OrganizationID, query, do)
}

// Find returns a review in the actor's organization, with the question and the answer if the person has sent them.
func (r *Reviewer) Find(ctx context.Context, actor identity.Actor, messageID uuid.UUID) (ReviewText, error) {
	if !actor.Role.IsAdmin() {
		return ReviewText{}, org.ErrForbidden
	}
	return r.store.FindReview(ctx, actor.OrganizationID, messageID)
}

// BySkill counts the ratings in the actor's organization by skill, largest first. A zero time is no bound.
func (r *Reviewer) BySkill(ctx context.Context, actor identity.Actor, from, to time.Time) ([]SkillRatings, error) {
	if !actor.Role.IsAdmin() {
		return nil, org.ErrForbidden
	}
	return r.store.CountRatings(ctx, actor.OrganizationID, from, to)
}
