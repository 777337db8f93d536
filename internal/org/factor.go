package org

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// FactorPolicy determines which members need a second factor to sign in with a password.
type FactorPolicy string

// The policies.
const (
	FactorOptional       FactorPolicy = "optional"
	FactorAdministrators FactorPolicy = "administrators"
	FactorEverybody      FactorPolicy = "everybody"
)

// superAdminTime is how long after losing the role a super-admin's second factor can only be reset by two people.
// Otherwise one super-admin could remove the role of another and then reset the factor alone.
const superAdminTime = 30 * 24 * time.Hour

// FactorReset is a request to reset the second factor of a super-admin. It expires after a day.
type FactorReset struct {
	By      uuid.UUID // The administrator who made it.
	BySuper bool      // They are a super-admin now.
}

// The errors of resets.
var (
	ErrSecondPerson = fault.Errorf(fault.Conflict, "特権管理者と、30日以内に特権管理者だった人の二段階認証のリセットには、別の管理者の承認が必要です。")
	ErrSuperNeeded  = fault.Errorf(fault.Conflict, "特権管理者と、30日以内に特権管理者だった人の二段階認証のリセットには、特権管理者の承認が必要です。")
)

// FactorPolicy returns the policy of the actor's organization. For administrators.
func (s *Service) FactorPolicy(ctx context.Context, actor identity.Actor) (FactorPolicy, error) {
	if err := administers(actor); err != nil {
		return "", err
	}
	return s.store.FactorPolicy(ctx, actor.OrganizationID)
}

// SetFactorPolicy sets the policy of the actor's organization. It takes effect at the next sign-in of each member. For
// super-admins.
func (s *Service) SetFactorPolicy(ctx context.Context, actor identity.Actor, policy FactorPolicy) error {
	if actor.Role != identity.RoleOrganizationSuperAdmin {
		return ErrForbidden
	}
	switch policy {
	case FactorOptional, FactorAdministrators, FactorEverybody:
	default:
		return fault.InvalidField("policy", "optional、administrators、everybody のいずれかを指定してください。")
	}
	return s.store.SetFactorPolicy(ctx, actor, policy, stillSuperAdmin)
}

// ResetMemberFactor removes the second factor of a member of the actor's organization and ends their sessions. For a
// super-admin, or a member who was one within superAdminTime, it needs two administrators, one of them a super-admin:
// the first call records a request, and the call of the second administrator resets the factor. It reports whether the
// factor was reset. Errors: fault.Forbidden, fault.NotFound, and fault.Conflict if the call does not complete a
// request.
func (s *Service) ResetMemberFactor(ctx context.Context, actor identity.Actor, userID uuid.UUID) (reset bool, err error) {
	if err := administers(actor); err != nil {
		return false, err
	}
	// Read before the change: a member who loses the role in between is a super-admin here.
	wasSuper, err := s.store.WasSuperAdmin(ctx, actor.OrganizationID, userID, superAdminTime)
	if err != nil {
		return false, err
	}
	_, err = s.store.ChangeMember(ctx, actor.OrganizationID, userID, AuditActorOf(actor),
		func(r MemberContext) (MemberChange, error) {
			change, err := r.resetFactor(actor.ID, wasSuper)
			reset = change.ResetFactor
			return change, err
		})
	if err != nil {
		return false, err
	}
	s.Settle(ctx, userID)
	return reset, nil
}

// ResetFactor removes the second factor of any member on behalf of an operator, and ends their sessions. If no member
// has the address, the error has the code fault.NotFound.
func (s *Service) ResetFactor(ctx context.Context, operator AuditActor, email string) (Member, error) {
	return s.operate(ctx, operator, email, func(r MemberContext) (MemberChange, error) { return r.factorReset(), nil })
}

// resetFactor decides on a call by an administrator. wasSuper reports whether the member was
// a super-admin within superAdminTime.
func (r MemberContext) resetFactor(actorID uuid.UUID, wasSuper bool) (MemberChange, error) {
	if !wasSuper && r.Member.Role != identity.RoleOrganizationSuperAdmin {
		return r.factorReset(), r.touch(actorID)
	}
	// Not touch, because an admin may be the second person.
	if err := stillAdministers(r.Actor); err != nil {
		return MemberChange{}, err
	}
	super := r.Actor.Role == identity.RoleOrganizationSuperAdmin
	switch {
	case r.Member.ID == actorID:
		return MemberChange{}, ErrSelf
	case r.FactorReset == nil:
		change := r.Member.change(actionFactorRequest, Change{Field: "factor", After: "requested"})
		change.RequestFactorReset = true
		return change, nil
	case r.FactorReset.By == actorID:
		return MemberChange{}, ErrSecondPerson
	case !super && !r.FactorReset.BySuper:
		return MemberChange{}, ErrSuperNeeded
	}
	return r.factorReset(), nil
}

// factorReset returns the change that resets the member's second factor.
func (r MemberContext) factorReset() MemberChange {
	change := r.Member.change(actionFactorReset, Change{Field: "sessions", After: "all"})
	change.ResetFactor = true
	return change
}
