package org_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// TestFactorResets: administrators reset the second factor of members; that of a super-admin needs two people, one of
// them a super-admin.
func TestFactorResets(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	member := f.actor(f.a, "taro", identity.RoleGeneralUser)
	lost := f.actor(f.a, "lost", identity.RoleOrganizationSuperAdmin)
	second := f.actor(f.a, "second", identity.RoleOrganizationAdmin)
	reset := func(by, of identity.Actor, want bool, wantErr error) {
		t.Helper()
		got, err := f.ResetMemberFactor(ctx, by, of.ID)
		if got != want || !errors.Is(err, wantErr) {
			t.Errorf("%s resets %s: %v, %v", by.Name, of.Name, got, err)
		}
	}
	reset(f.admin, member, true, nil)
	reset(member, f.admin, false, org.ErrForbidden)
	reset(f.admin, f.admin, false, org.ErrSelf)
	reset(f.admin, second, false, org.ErrForbidden)
	reset(f.super, f.super, false, org.ErrSelf)
	if _, err := f.ResetMemberFactor(ctx, f.other, member.ID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("by another organization: %v", err)
	}

	reset(f.admin, lost, false, nil) // A request.
	reset(f.admin, lost, false, org.ErrSecondPerson)
	reset(second, lost, false, org.ErrSuperNeeded)
	members, _, err := f.Members(ctx, f.super, org.MemberQuery{Search: "lost", Limit: 10})
	if f.must(err); len(members) != 1 || members[0].FactorResetBy != "admin" {
		t.Errorf("got %+v", members)
	}
	reset(f.super, lost, true, nil)
	reset(f.super, lost, false, nil) // A new request, which an admin may confirm.
	reset(f.admin, lost, true, nil)

	reset(f.super, lost, false, nil)
	if _, err := f.sql.Exec(ctx, `UPDATE factor_resets SET requested_at = now() - interval '25 hours'`); err != nil {
		t.Fatal(err)
	}
	reset(f.admin, lost, false, nil) // The earlier request has expired.

	// Taking the role away does not make one person enough.
	demoted := f.actor(f.a, "demoted", identity.RoleOrganizationSuperAdmin)
	for _, role := range []identity.Role{identity.RoleOrganizationAdmin, identity.RoleGeneralUser} {
		_, err := f.EditMember(ctx, f.super, demoted.ID, org.MemberEdit{Role: &role})
		f.must(err)
		reset(f.super, demoted, false, nil)
		reset(f.super, demoted, false, org.ErrSecondPerson)
		reset(f.admin, demoted, true, nil)
	}
	f.exec(`UPDATE audit_events SET at = now() - interval '31 days' WHERE target_id = $1`, demoted.ID.String())
	reset(f.super, demoted, true, nil)

	if _, err := f.ResetFactor(ctx, org.Operator("root"), "LOST@example.com"); err != nil {
		t.Errorf("by an operator: %v", err)
	}
	want := []string{
		"reset factor sub-demoted", "reset factor sub-demoted", "reset factor sub-demoted",
		"reset factor sub-lost", "reset factor sub-lost", "reset factor sub-lost", "reset factor sub-taro",
	}
	if calls := slices.Sorted(slices.Values(f.accounts.take())); !slices.Equal(calls, want) {
		t.Errorf("the provider received %q, want %q", calls, want)
	}
}

// TestFactorResetRequestsNeedAnAdministrator: a request is ignored once its author is no longer an active
// administrator.
func TestFactorResetRequestsNeedAnAdministrator(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	general, inactive := identity.RoleGeneralUser, identity.StateInactive
	for name, edit := range map[string]org.MemberEdit{"demoted": {Role: &general}, "inactive": {State: &inactive}} {
		lost := f.actor(f.a, "lost-"+name, identity.RoleOrganizationSuperAdmin)
		former := f.actor(f.a, name, identity.RoleOrganizationAdmin)
		if reset, err := f.ResetMemberFactor(ctx, former, lost.ID); reset || err != nil {
			t.Errorf("the request: %v, %v", reset, err)
		}
		_, err := f.EditMember(ctx, f.super, former.ID, edit)
		f.must(err)
		members, _, err := f.Members(ctx, f.super, org.MemberQuery{Search: lost.Name, Limit: 10})
		if f.must(err); len(members) != 1 || members[0].FactorResetBy != "" {
			t.Errorf("%s: the members are %+v", name, members)
		}
		if reset, err := f.ResetMemberFactor(ctx, f.super, lost.ID); reset || err != nil {
			t.Errorf("%s: the next one: %v, %v", name, reset, err)
		}
	}
}

func TestFactorPolicy(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ctx := t.Context()
	if err := f.SetFactorPolicy(ctx, f.admin, org.FactorEverybody); !errors.Is(err, org.ErrForbidden) {
		t.Errorf("by an admin: %v", err)
	}
	if err := f.SetFactorPolicy(ctx, f.super, "nobody"); fault.CodeOf(err) != fault.Invalid {
		t.Errorf("an unknown policy: %v", err)
	}
	f.must(f.SetFactorPolicy(ctx, f.super, org.FactorAdministrators))
	if policy, err := f.FactorPolicy(ctx, f.admin); err != nil || policy != org.FactorAdministrators {
		t.Errorf("got %q, %v", policy, err)
	}
	if policy, err := f.FactorPolicy(ctx, f.other); err != nil || policy != org.FactorOptional {
		t.Errorf("of another organization: %q, %v", policy, err)
	}
}
