package org_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

const (
	general = identity.RoleGeneralUser
	admin   = identity.RoleOrganizationAdmin
	super   = identity.RoleOrganizationSuperAdmin
	system  = identity.RoleSystemAdmin
)

// table is a store with one roster for the rules. It records their decisions.
type table struct {
	org.Store
	roster org.MemberContext
	asked  bool
	change org.MemberChange
}

func (s *table) ChangeMember(
	_ context.Context, _, _ uuid.UUID, _ org.AuditActor, decide func(org.MemberContext) (org.MemberChange, error),
) (org.Member, error) {
	s.asked = true
	var err error
	s.change, err = decide(s.roster)
	return s.roster.Member, err
}

func (s *table) BeginInvite(_ context.Context, call org.InviteCall) (org.BeginInviteResult, error) {
	s.asked = true
	return org.BeginInviteResult{}, call.Check(s.roster.Actor)
}

func (s *table) ClaimAccountChanges(context.Context, *uuid.UUID, time.Duration, int) ([]org.AccountChange, error) {
	return nil, nil
}

func (s *table) EndInvite(context.Context, uuid.UUID, uuid.UUID, []org.Invitation) error { return nil }

func (s *board) ListMembers(context.Context, uuid.UUID, org.MemberQuery) ([]org.Member, int, error) {
	return nil, 0, nil
}

// act calls do as an actor of one role.
func act(roster org.MemberContext, role identity.Role, do func(*org.Service, identity.Actor) error) (*table, error) {
	actor := identity.Actor{User: identity.User{ID: uuid.New(), Role: role, State: identity.StateActive}}
	if roster.Actor == nil {
		roster.Actor = &org.Member{ID: actor.ID, Role: role, State: identity.StateActive}
	}
	s := &table{roster: roster}
	return s, do(org.NewService(s, nil, nil, slog.New(slog.DiscardHandler)), actor)
}

// member returns a roster with an active member among others, and a seat.
func member(role identity.Role) org.MemberContext {
	return org.MemberContext{ActiveSupers: 2, FreeSeats: 1, Member: org.Member{
		ID: uuid.New(), Name: "名前", Role: role,
		State: identity.StateActive,
	}}
}

// TestR59_R62_RolesOfTheContract checks the permissions for every pair of roles.
func TestR59_R62_RolesOfTheContract(t *testing.T) {
	t.Parallel()
	handles := map[identity.Role][]identity.Role{admin: {general}, super: {general, admin, super}}
	roles := []identity.Role{general, admin, super, system}
	allowed := func(actor identity.Role, touched ...identity.Role) bool {
		for _, role := range touched {
			found := false
			for _, r := range handles[actor] {
				found = found || r == role
			}
			if !found {
				return false
			}
		}
		return true
	}
	check := func(what string, err error, want bool) {
		t.Helper()
		if want != (err == nil) || (!want && fault.CodeOf(err) != fault.Forbidden &&
			fault.CodeOf(err) != fault.Invalid) {
			t.Errorf("%s: %v, allowed %t", what, err, want)
		}
	}
	name, inactive := "別の名前", identity.StateInactive
	for _, actor := range roles {
		for _, target := range roles {
			what := string(actor) + " and " + string(target)
			_, err := act(member(target), actor, func(s *org.Service, a identity.Actor) error {
				_, err := s.EditMember(t.Context(), a, uuid.New(), org.MemberEdit{Name: &name})
				return err
			})
			check(what+", name", err, allowed(actor, target))
			_, err = act(member(target), actor, func(s *org.Service, a identity.Actor) error {
				_, err := s.EditMember(t.Context(), a, uuid.New(), org.MemberEdit{State: &inactive})
				return err
			})
			check(what+", state", err, allowed(actor, target))
			_, err = act(member(target), actor, func(s *org.Service, a identity.Actor) error {
				return s.RemoveMember(t.Context(), a, uuid.New())
			})
			check(what+", removal", err, allowed(actor, target))
			_, err = act(member(target), actor, func(s *org.Service, a identity.Actor) error {
				_, err := s.Invite(t.Context(), a, uuid.New(),
					[]org.Invitee{{Email: "x@example.com", Name: "x", Role: target}})
				return err
			})
			check(what+", invitation", err, allowed(actor, target))
			for _, granted := range roles {
				_, err = act(member(target), actor, func(s *org.Service, a identity.Actor) error {
					_, err := s.EditMember(t.Context(), a, uuid.New(), org.MemberEdit{Role: &granted})
					return err
				})
				check(what+" becomes "+string(granted), err, allowed(actor, target, granted))
			}
		}
		service := org.NewService(newBoard(), nil, nil, slog.New(slog.DiscardHandler))
		_, _, err := service.Members(t.Context(), identity.Actor{User: identity.User{Role: actor}}, org.MemberQuery{})
		check(string(actor)+" lists members", err, actor == admin || actor == super)
	}
}

func TestR62_ForbiddenChanges(t *testing.T) {
	t.Parallel()
	inactive, active, lower := identity.StateInactive, identity.StateActive, admin
	edit := func(e org.MemberEdit) func(*org.Service, identity.Actor, uuid.UUID) error {
		return func(s *org.Service, a identity.Actor, id uuid.UUID) error {
			_, err := s.EditMember(t.Context(), a, id, e)
			return err
		}
	}
	remove := func(s *org.Service, a identity.Actor, id uuid.UUID) error { return s.RemoveMember(t.Context(), a, id) }
	last := member(super)
	last.ActiveSupers = 1
	asleep := member(general)
	asleep.Member.State = inactive
	full := asleep
	full.FreeSeats = 0
	lastAsleep := last
	lastAsleep.Member.State = inactive
	lastAsleep.ActiveSupers = 1
	demoted := member(general)
	demoted.Actor = &org.Member{Role: general, State: active}
	suspended := member(general)
	suspended.Actor = &org.Member{Role: super, State: inactive}
	name := "別の名前"
	for what, c := range map[string]struct {
		roster org.MemberContext
		do     func(*org.Service, identity.Actor, uuid.UUID) error
		want   error
	}{
		"the last super-admin is demoted":         {last, edit(org.MemberEdit{Role: &lower}), org.ErrLastSuper},
		"the last super-admin is made inactive":   {last, edit(org.MemberEdit{State: &inactive}), org.ErrLastSuper},
		"the last super-admin is removed":         {last, remove, org.ErrLastSuper},
		"the last super-admin is renamed":         {last, edit(org.MemberEdit{Name: &name}), nil},
		"an inactive super-admin is removed":      {lastAsleep, remove, nil},
		"an actor who was demoted just now":       {demoted, remove, org.ErrForbidden},
		"an actor who was made inactive just now": {suspended, remove, org.ErrForbidden},
		"somebody is made active":                 {asleep, edit(org.MemberEdit{State: &active}), nil},
		"somebody is made active without a seat":  {full, edit(org.MemberEdit{State: &active}), org.ErrNoSeat},
		"somebody without a seat stays inactive":  {full, edit(org.MemberEdit{State: &inactive}), nil},
	} {
		s, err := act(c.roster, super, func(s *org.Service, a identity.Actor) error { return c.do(s, a, uuid.New()) })
		if !errors.Is(err, c.want) || !s.asked {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
	for what, do := range map[string]func(*org.Service, identity.Actor, uuid.UUID) error{
		"edits": edit(org.MemberEdit{Name: &name}), "removes": remove, "demotes": edit(org.MemberEdit{Role: &lower}),
	} {
		roster := member(super)
		_, err := act(roster, super, func(s *org.Service, a identity.Actor) error {
			a.ID = roster.Member.ID
			return do(s, a, a.ID)
		})
		if !errors.Is(err, org.ErrSelf) {
			t.Errorf("a super-admin %s themself: %v", what, err)
		}
	}
}

func TestNothingToChangeIsNotLogged(t *testing.T) {
	t.Parallel()
	roster := member(general)
	s, err := act(roster, super, func(s *org.Service, a identity.Actor) error {
		_, err := s.EditMember(t.Context(), a, uuid.New(), org.MemberEdit{
			Name: &roster.Member.Name,
			Role: &roster.Member.Role,
		})
		return err
	})
	if err != nil || len(s.change.Details) != 0 {
		t.Errorf("got %+v, %v", s.change, err)
	}
}

func TestInputOfInvitations(t *testing.T) {
	t.Parallel()
	long := make([]org.Invitee, org.MaxInvitees+1)
	person := func(email, name string, role identity.Role) []org.Invitee {
		return []org.Invitee{{Email: email, Name: name, Role: role}}
	}
	for field, invitees := range map[string][]org.Invitee{
		"users":         long,
		"users[0].name": person("a@example.com", " ", general),
		"users[0].role": person("a@example.com", "a", system),
		"users[1].email": {
			{Email: "a@example.com", Name: "a", Role: general},
			{Email: " A@Example.com", Name: "b", Role: general},
		},
		"users[0].email":   person("a", "a", general),
		"users[0].email ":  person("a b@example.com", "a", general),
		"users[0].email  ": person("名前@example.com", "a", general),
		"users[0].email a": person(`"a b"@example.com`, "a", general),
		"users[0].email b": person("a@example.com, b@example.com", "a", general),
		"users[0].email c": person("A <a@example.com>", "a", general),
		// The Kelvin sign, which becomes a plain k in lower case.
		"users[0].email d": person("\u212Aei@example.com", "a", general),
		"users[0].name ":   person("a@example.com", "a\u202eb", general),
		"users[0].name  ":  person("a@example.com", "a\u2028b", general),
		"users[0].name a":  person("a@example.com", "\u3164", general),
	} {
		s, err := act(member(general), super, func(s *org.Service, a identity.Actor) error {
			_, err := s.Invite(t.Context(), a, uuid.New(), invitees)
			return err
		})
		fields := fault.FieldsOf(err)
		if s.asked || len(fields) != 1 || len(field) < len(fields[0].Field) ||
			fields[0].Field != field[:len(fields[0].Field)] {
			t.Errorf("%s: %v", field, err)
		}
	}
}
