package org_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// TestR62_TheLastSuperAdminStays: two super-admins demote or remove each other concurrently.
func TestR62_TheLastSuperAdminStays(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	inactive, lower := identity.StateInactive, general
	for i, do := range []func(actor identity.Actor, other uuid.UUID) error{
		func(a identity.Actor, other uuid.UUID) error { return f.RemoveMember(t.Context(), a, other) },
		func(a identity.Actor, other uuid.UUID) error {
			_, err := f.EditMember(t.Context(), a, other, org.MemberEdit{Role: &lower})
			return err
		},
		func(a identity.Actor, other uuid.UUID) error {
			_, err := f.EditMember(t.Context(), a, other, org.MemberEdit{State: &inactive})
			return err
		},
	} {
		for round := range 10 {
			id := newID()
			f.must(f.db.CreateOrganization(t.Context(), org.Organization{ID: id, Name: "二人の会社", AuthType: "cognito"}))
			pair := []identity.Actor{
				f.actor(id, fmt.Sprintf("one-%d-%d", i, round), super),
				f.actor(id, fmt.Sprintf("two-%d-%d", i, round), super),
			}
			var errs [2]error
			var both sync.WaitGroup
			for n := range pair {
				both.Go(func() { errs[n] = do(pair[n], pair[1-n].ID) })
			}
			both.Wait()
			if (errs[0] == nil) == (errs[1] == nil) {
				t.Errorf("way %d: %v and %v", i, errs[0], errs[1])
			}
			if n := f.count(`SELECT count(*) FROM users WHERE organization_id = $1 AND role = $2 AND state = 'active'`,
				id, super); n != 1 {
				t.Fatalf("way %d: %d super-admins are left", i, n)
			}
		}
	}
}

// TestR62_OneSuperAdminKeepsAPassword: with single sign-on, one super-admin can still sign in when it fails.
func TestR62_OneSuperAdminKeepsAPassword(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	boss := f.actor(f.a, "boss", super)
	f.exec(`UPDATE users SET auth_type = 'federated_idp' WHERE id = $1`, boss.ID)
	inactive, lower, name := identity.StateInactive, general, "別の名前"
	lose := map[string]func() error{
		"demoted": func() error {
			_, err := f.EditMember(t.Context(), boss, f.super.ID, org.MemberEdit{Role: &lower})
			return err
		},
		"made inactive": func() error {
			_, err := f.EditMember(t.Context(), boss, f.super.ID, org.MemberEdit{State: &inactive})
			return err
		},
		"removed": func() error { return f.RemoveMember(t.Context(), boss, f.super.ID) },
	}
	f.exec(`UPDATE organizations SET auth_type = 'federated_idp' WHERE id = $1`, f.a)
	for what, do := range lose {
		if err := do(); !errors.Is(err, org.ErrLastPassword) {
			t.Errorf("the only one with a password is %s: %v", what, err)
		}
	}
	_, err := f.EditMember(t.Context(), boss, f.super.ID, org.MemberEdit{Name: &name})
	f.must(err)
	_, err = f.EditMember(t.Context(), f.super, boss.ID, org.MemberEdit{Role: &lower})
	f.must(err)
	_, err = f.EditMember(t.Context(), f.super, boss.ID, org.MemberEdit{Role: &boss.Role})
	f.must(err)
	spare := f.actor(f.a, "spare", super)
	f.exec(`UPDATE users SET invited_at = now() WHERE id = $1`, spare.ID)
	if err := lose["removed"](); !errors.Is(err, org.ErrLastPassword) {
		t.Errorf("the other one was only invited: %v", err)
	}
	f.must(f.RemoveMember(t.Context(), boss, spare.ID)) // The invited super-admin has no password.
	f.actor(f.a, "another", super)
	f.must(lose["removed"]())
}

// TestR61_OthersMembersDoNotExist: members of another organization are treated as if they did not exist, and are not
// changed.
func TestR61_OthersMembersDoNotExist(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	name := "乗っ取り"
	for what, id := range map[string]uuid.UUID{"foreign": f.other.ID, "missing": newID()} {
		_, edited := f.EditMember(t.Context(), f.super, id, org.MemberEdit{Name: &name})
		for _, err := range []error{
			edited, f.RemoveMember(t.Context(), f.super, id),
			f.Resend(t.Context(), f.super, id),
		} {
			if !errors.Is(err, org.ErrNoMember) {
				t.Errorf("%s: %v", what, err)
			}
		}
	}
	if m := f.find("other@example.com"); m.Name != "other" || m.State != identity.StateActive {
		t.Errorf("they are now %+v", m)
	}
	if told := f.accounts.take(); len(told) > 0 {
		t.Errorf("the provider was told %v", told)
	}
}

func TestMembersAreFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.actor(f.a, "tanaka", general)
	f.exec(`UPDATE users SET name = '田中 Ａｌｉｃｅ', last_signed_in_at = now() WHERE email = 'tanaka@example.com'`)
	f.invite(newID(), "new@example.com")
	gone := f.actor(f.a, "gone", general)
	inactive := identity.StateInactive
	_, err := f.EditMember(t.Context(), f.super, gone.ID, org.MemberEdit{State: &inactive})
	f.must(err)
	for what, c := range map[string]struct {
		query org.MemberQuery
		total int
		want  []string
	}{
		"all, by name":      {org.MemberQuery{Limit: 10}, 5, []string{"admin", "gone", "super", "new", "tanaka"}},
		"a page":            {org.MemberQuery{Offset: 1, Limit: 2}, 5, []string{"gone", "super"}},
		"past the end":      {org.MemberQuery{Offset: 9, Limit: 2}, 5, nil},
		"a name":            {org.MemberQuery{Search: "田中", Limit: 10}, 1, []string{"tanaka"}},
		"any width or case": {org.MemberQuery{Search: " ALICE ", Limit: 10}, 1, []string{"tanaka"}},
		"an address":        {org.MemberQuery{Search: "NEW@ex", Limit: 10}, 1, []string{"new"}},
		"no pattern":        {org.MemberQuery{Search: "%", Limit: 10}, 0, nil},
		"a role":            {org.MemberQuery{Role: super, Limit: 10}, 1, []string{"super"}},
		"invited":           {org.MemberQuery{State: org.MemberInvited, Limit: 10}, 1, []string{"new"}},
		"inactive":          {org.MemberQuery{State: org.MemberInactive, Limit: 10}, 1, []string{"gone"}},
		"active": {
			org.MemberQuery{State: org.MemberActive, Limit: 10},
			3,
			[]string{"admin", "super", "tanaka"},
		},
	} {
		members, total, err := f.Members(t.Context(), f.admin, c.query)
		f.must(err)
		var got []string
		for _, m := range members {
			got = append(got, m.Email[:len(m.Email)-len("@example.com")])
		}
		if !slices.Equal(got, c.want) || total != c.total {
			t.Errorf("%s: %v of %d, want %v of %d", what, got, total, c.want, c.total)
		}
	}
}

// TestR45_ChangesAreNotified: a change is committed before it is sent to the provider, which happens at once.
func TestR45_ChangesAreNotified(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ann := f.actor(f.a, "ann", general)
	inactive, active, name := identity.StateInactive, identity.StateActive, "新しい名前"
	m, err := f.EditMember(t.Context(), f.admin, ann.ID, org.MemberEdit{State: &inactive, Name: &name})
	if err != nil || m.State != inactive || m.Name != name {
		t.Fatalf("got %+v, %v", m, err)
	}
	if told := f.accounts.take(); !slices.Equal(told, []string{"disable sub-ann", "rename sub-ann " + name}) {
		t.Errorf("told %v", told)
	}
	_, err = f.EditMember(t.Context(), f.admin, ann.ID, org.MemberEdit{State: &active})
	f.must(err)
	f.must(f.RemoveMember(t.Context(), f.admin, ann.ID))
	if told := f.accounts.take(); !slices.Equal(told, []string{"delete sub-ann", "enable sub-ann"}) {
		t.Errorf("told %v", told)
	}
	if n := f.count(`SELECT count(*) FROM account_changes`); n != 0 {
		t.Errorf("%d changes are left", n)
	}
}

// TestMissedAccountChangesAreRetried: changes take effect while the provider is unavailable, and it receives the final
// state later.
func TestMissedAccountChangesAreRetried(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ann, bob, cat := f.actor(f.a, "ann", general), f.actor(f.a, "bob", general), f.actor(f.a, "cat", general)
	inactive, active := identity.StateInactive, identity.StateActive
	for _, told := range []string{"disable sub-ann", "disable sub-bob", "enable sub-bob", "delete sub-cat"} {
		f.accounts.fail(told, errProvider)
	}
	edit := func(id uuid.UUID, state identity.State) {
		t.Helper()
		_, err := f.EditMember(t.Context(), f.admin, id, org.MemberEdit{State: &state})
		f.must(err)
	}
	edit(ann.ID, inactive)
	edit(bob.ID, inactive)
	edit(bob.ID, active)
	f.must(f.RemoveMember(t.Context(), f.admin, cat.ID))
	if n := f.count(`SELECT count(*) FROM users WHERE state = 'inactive' AND email = 'ann@example.com'`); n != 1 {
		t.Error("the change does not hold")
	}
	if told := f.accounts.take(); len(told) > 0 || f.SweepOnce(t.Context()) != 0 {
		t.Errorf("told %v, or tried again at once", told)
	}
	for range 2 { // A failed retry is followed by another one.
		f.exec(`UPDATE account_changes SET due_at = now()`)
		if n := f.service().SweepOnce(t.Context()); n != 3 {
			t.Errorf("%d changes were due", n)
		}
	}
	for _, told := range []string{"disable sub-ann", "disable sub-bob", "enable sub-bob"} {
		f.accounts.fail(told, nil)
	}
	// Another program has deleted the account.
	f.accounts.fail("delete sub-cat", fault.Errorf(fault.NotFound, "nobody"))
	f.exec(`UPDATE account_changes SET due_at = now()`)
	f.SweepOnce(t.Context())
	if told := f.accounts.take(); !slices.Equal(told, []string{"disable sub-ann", "enable sub-bob"}) {
		t.Errorf("told %v", told)
	}
	if n := f.count(`SELECT count(*) FROM account_changes`); n != 0 {
		t.Errorf("%d changes are left", n)
	}
}

// TestChangesDuringAnAccountChange: the provider finally has the current state.
func TestChangesDuringAnAccountChange(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ann := f.actor(f.a, "ann", general)
	inactive, active := identity.StateInactive, identity.StateActive
	edit := func(state identity.State) {
		if _, err := f.EditMember(t.Context(), f.admin, ann.ID, org.MemberEdit{State: &state}); err != nil {
			t.Error(err)
		}
	}
	f.accounts.meets["disable sub-ann"] = func() { edit(active) }
	edit(inactive)
	f.accounts.mu.Lock()
	told := f.accounts.told
	f.accounts.mu.Unlock()
	if !slices.Equal(told, []string{"disable sub-ann", "enable sub-ann"}) {
		t.Errorf("told %v", told)
	}
	if n := f.count(`SELECT count(*) FROM account_changes`); n != 0 {
		t.Errorf("%d changes are left", n)
	}
}

// TestChangesAreLogged: the log has each change with its actor, address and previous value, and no refused changes.
func TestChangesAreLogged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.super.Address = netip.MustParseAddr("2001:db8::1")
	f.invite(newID(), "new@example.com")
	m := f.find("new@example.com")
	f.must(f.Resend(t.Context(), f.super, m.ID))
	role, name := admin, "管理 花子"
	_, err := f.EditMember(t.Context(), f.super, m.ID, org.MemberEdit{Role: &role, Name: &name})
	f.must(err)
	if err := f.RemoveMember(t.Context(), f.admin, m.ID); !errors.Is(err, org.ErrForbidden) {
		t.Fatalf("an admin removes an admin: %v", err)
	}
	f.must(f.RemoveMember(t.Context(), f.super, m.ID))
	events, total, err := f.AuditEvents(t.Context(), f.admin, org.AuditQuery{Limit: 10})
	f.must(err)
	var actions []org.Action
	for _, e := range events {
		actions = append(actions, e.Action)
		if e.TargetLabel != "new@example.com" || e.TargetID != m.ID.String() || e.By.RequestID != "request" ||
			e.At.IsZero() {
			t.Errorf("logged %+v", e)
		}
	}
	if want := []org.Action{
		org.ActionRemove, org.ActionEdit, org.ActionResend,
		org.ActionInvite,
	}; !slices.Equal(actions, want) || total != 4 {
		t.Fatalf("logged %v of %d", actions, total)
	}
	edit := events[1]
	if *edit.By.ID != f.super.ID || edit.By.Email != f.super.Email || edit.By.Address != f.super.Address ||
		edit.By.Kind != org.ByMember ||
		!slices.Equal(edit.Details, []org.Change{
			{Field: "name", Before: "名前", After: name}, {Field: "role", Before: string(general), After: string(admin)},
		}) {
		t.Errorf("logged %+v", edit)
	}
	for what, c := range map[string]struct {
		query org.AuditQuery
		want  int
	}{
		"an action":       {org.AuditQuery{Action: org.ActionEdit}, 1},
		"by somebody":     {org.AuditQuery{Search: "SUPER"}, 3},
		"to somebody":     {org.AuditQuery{Search: "new@"}, 4},
		"later":           {org.AuditQuery{From: time.Now().Add(time.Hour)}, 0},
		"until then":      {org.AuditQuery{To: edit.At}, 2},
		"from then":       {org.AuditQuery{From: edit.At}, 2},
		"somebody else’s": {org.AuditQuery{OrganizationID: &f.b}, 4}, // The scope cannot be chosen.
	} {
		c.query.Limit = 10
		if _, n, err := f.AuditEvents(t.Context(), f.admin, c.query); err != nil || n != c.want {
			t.Errorf("%s: %d, %v, want %d", what, n, err, c.want)
		}
	}
	if _, n, err := f.AuditEvents(t.Context(), f.other, org.AuditQuery{Limit: 10}); err != nil || n != 0 {
		t.Errorf("another organization sees %d, %v", n, err)
	}
}

func TestOperatorsMembers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	operator := org.Operator("root")
	m, err := f.Enroll(t.Context(), operator, f.b, org.Invitee{Email: "Boss@example.com", Name: "社長", Role: super})
	if err != nil || m.Email != "boss@example.com" || m.OrganizationID != f.b || m.Subject == "" {
		t.Fatalf("got %+v, %v", m, err)
	}
	for what, c := range map[string]struct {
		organization uuid.UUID
		email        string
		code         fault.Code
	}{
		"again":           {f.b, "boss@example.com", fault.Conflict},
		"elsewhere":       {f.a, "boss@example.com", fault.Conflict},
		"no organization": {newID(), "x@example.com", fault.NotFound},
		"no address":      {f.b, "x", fault.Invalid},
		"too long":        {f.b, strings.Repeat("x", 60) + "@" + strings.Repeat("x", 60) + ".example", fault.Invalid},
	} {
		if _, err := f.Enroll(t.Context(), operator, c.organization,
			org.Invitee{Email: c.email, Name: "x", Role: general}); fault.CodeOf(err) != c.code {
			t.Errorf("%s: %v", what, err)
		}
	}
	f.seats(f.b, 0)
	if _, err := f.Enroll(t.Context(), operator, f.b, org.Invitee{
		Email: "x@example.com", Name: "x",
		Role: general,
	}); !errors.Is(err, org.ErrNoSeat) {
		t.Errorf("without a seat: %v", err)
	}
	// An operator may do what members may not, because the only super-admin's account may be compromised.
	f.accounts.take()
	for range 2 {
		if m, err := f.DisableMember(t.Context(), operator, " Super@example.com"); err != nil ||
			m.State != identity.StateInactive {
			t.Errorf("disabled %+v, %v", m, err)
		}
	}
	if told := f.accounts.take(); !slices.Equal(told, []string{"disable sub-super"}) {
		t.Errorf("told %v", told)
	}
	if n := f.count(`SELECT count(*) FROM audit_events WHERE actor_kind = 'operator' AND actor_name = 'root'`); n != 2 {
		t.Errorf("%d entries of operators", n)
	}
}

// TestNamesRefusedByTheProvider: such names are stored only in the database, and do not block other changes.
func TestNamesRefusedByTheProvider(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ann := f.actor(f.a, "ann", general)
	f.accounts.fail("rename sub-ann 紡 杏", fault.Errorf(fault.Invalid, "no such name"))
	name, inactive := "紡 杏", identity.StateInactive
	_, err := f.EditMember(t.Context(), f.super, ann.ID, org.MemberEdit{Name: &name, State: &inactive})
	f.must(err)
	if told := f.accounts.take(); !slices.Equal(told, []string{"disable sub-ann"}) {
		t.Errorf("told %v", told)
	}
	if n := f.count(`SELECT count(*) FROM account_changes`); n != 0 {
		t.Error("it is tried again and again")
	}
}
