package org_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

func TestInvitationsAreAnsweredOneByOne(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.seats(f.a, 6) // Two seats are occupied.
	f.accounts.fail("invite broken@example.com", errProvider)
	f.accounts.fail("invite known@example.com", fault.Errorf(fault.Conflict, "exists"))
	got := f.invite(newID(), "one@example.com", "super@example.com", "other@example.com", "broken@example.com",
		"known@example.com",
		"two@example.com", "three@example.com")
	want := []org.InviteResult{
		org.Invited, org.AlreadyMember, org.InviteUnavailable, org.InviteFailed, org.InviteUnavailable, org.Invited,
		org.NoSeat,
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if told := f.accounts.take(); !slices.Equal(told, []string{"invite one@example.com", "invite two@example.com"}) {
		t.Errorf("told %v", told)
	}
	m := f.find("one@example.com")
	if m.Subject == "" || m.InvitedAt == nil || m.LastSignedInAt != nil || m.State != identity.StateActive ||
		m.Role != general {
		t.Errorf("invited %+v", m)
	}
	if n := f.count(`SELECT count(*) FROM users WHERE organization_id = $1`, f.a); n != 4 {
		t.Errorf("%d members", n)
	}
	if n := f.count(`SELECT count(*) FROM account_changes`); n != 0 {
		t.Errorf("%d changes are left", n)
	}
	// The failed invitation has released its seat.
	f.accounts.fail("invite broken@example.com", nil)
	if got := f.invite(newID(), "broken@example.com"); !slices.Equal(got, []org.InviteResult{org.Invited}) {
		t.Errorf("tried again: %v", got)
	}
}

// TestRepeatedInvitationsAreSentOnce: a repeated call returns the same results, concurrently or later, on any server.
func TestRepeatedInvitationsAreSentOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.accounts.fail("invite broken@example.com", errProvider)
	id, list := newID(), []string{"one@example.com", "broken@example.com", "super@example.com"}
	want := []org.InviteResult{org.Invited, org.InviteFailed, org.AlreadyMember}
	var copies sync.WaitGroup
	for range 8 {
		copies.Go(func() {
			invitations, err := f.service().Invite(t.Context(), f.admin, id, people(list...))
			if err != nil || !slices.Equal(results(invitations), want) || invitations[0].Member == nil ||
				invitations[0].Member.Email != list[0] {
				t.Errorf("got %+v, %v", invitations, err)
			}
		})
	}
	copies.Wait()
	f.accounts.fail("invite broken@example.com", nil)
	if got := f.invite(id, list...); !slices.Equal(got, want) {
		t.Errorf("later: %v", got)
	}
	if told := f.accounts.take(); !slices.Equal(told, []string{"invite one@example.com"}) {
		t.Errorf("told %v", told)
	}
	_, err := f.Invite(t.Context(), f.admin, id, people("else@example.com"))
	if fault.CodeOf(err) != fault.RequestConflict {
		t.Errorf("another list: %v", err)
	}
	// Request ids are scoped to the organization.
	if invitations, err := f.Invite(t.Context(), f.other, id, people("else@example.com")); err != nil ||
		invitations[0].Result != org.Invited {
		t.Errorf("another organization: %+v, %v", invitations, err)
	}
}

// TestInvitationsOfAFailedServer: a repeated request or another server's sweep completes the call of a failed server.
func TestInvitationsOfAFailedServer(t *testing.T) {
	t.Parallel()
	for _, repeated := range []bool{true, false} {
		f := newFixture(t)
		invitees := people("one@example.com", "two@example.com")
		id := newID()
		die(f, id, invitees)
		f.exec(`UPDATE invite_requests SET claimed_until = now()`)
		f.exec(`UPDATE account_changes SET due_at = now() WHERE invite`)
		if repeated {
			if got, err := f.service().Invite(t.Context(), f.admin, id, invitees); err != nil ||
				!slices.Equal(results(got), []org.InviteResult{org.Invited, org.Invited}) {
				t.Errorf("asked again: %+v, %v", got, err)
			}
			f.exec(`UPDATE invite_requests SET claimed_until = now()`)
		} else {
			if n := f.service().SweepOnce(t.Context()); n != 2 {
				t.Errorf("%d invitations were taken up", n)
			}
			if got := f.invite(id, "one@example.com", "two@example.com"); !slices.Equal(got,
				[]org.InviteResult{org.Invited, org.Invited}) {
				t.Errorf("asked again after that: %v", got)
			}
		}
		if told := f.accounts.take(); !slices.Equal(told, []string{
			"invite one@example.com",
			"invite two@example.com",
		}) {
			t.Errorf("told %v", told)
		}
		if n := f.count(`SELECT count(*) FROM account_changes`); n != 0 || f.find("one@example.com").Subject == "" {
			t.Errorf("%d changes are left", n)
		}
	}
}

// dying is the database of a server that fails after members have received their seats.
type dying struct {
	org.Store
}

var errDying = errors.New("dying")

func (d dying) BeginInvite(ctx context.Context, call org.InviteCall) (org.BeginInviteResult, error) {
	_, err := d.Store.BeginInvite(ctx, call)
	return org.BeginInviteResult{}, errors.Join(errDying, err)
}

// die begins a call like a server that fails before it calls the provider.
func die(f *fixture, id uuid.UUID, invitees []org.Invitee) {
	f.t.Helper()
	s := org.NewService(dying{f.db}, f.accounts, nil, slog.New(slog.DiscardHandler))
	if _, err := s.Invite(f.t.Context(), f.admin, id, invitees); !errors.Is(err, errDying) {
		f.t.Fatalf("it did not die: %v", err)
	}
}

// TestSeatsAreNotGivenTwice: many administrators invite concurrently.
func TestSeatsAreNotGivenTwice(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.seats(f.a, 7) // Two seats are occupied.
	asleep := f.actor(f.a, "asleep", general)
	inactive, active := identity.StateInactive, identity.StateActive
	_, err := f.EditMember(t.Context(), f.admin, asleep.ID, org.MemberEdit{State: &inactive})
	f.must(err)
	var invited, refused sync.Map
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			got, err := f.service().Invite(t.Context(), f.admin, newID(),
				people(fmt.Sprintf("a%d@example.com", i), fmt.Sprintf("b%d@example.com", i)))
			if err != nil {
				t.Error(err)
			}
			for _, invitation := range got {
				switch invitation.Result {
				case org.Invited:
					invited.Store(invitation.Email, true)
				case org.NoSeat:
					refused.Store(invitation.Email, true)
				default:
					t.Errorf("got %+v", invitation)
				}
			}
		})
	}
	all.Go(func() {
		if _, err := f.EditMember(t.Context(), f.super, asleep.ID, org.MemberEdit{State: &active}); err != nil &&
			!errors.Is(err, org.ErrNoSeat) {
			t.Error(err)
		}
	})
	all.Wait()
	view, err := f.Contract(t.Context(), f.admin)
	if err != nil || view.SeatsUsed != 7 || view.Seats != 7 {
		t.Errorf("%d of %d seats, %v", view.SeatsUsed, view.Seats, err)
	}
	if n := length(&invited) + length(&refused); n != 12 || length(&invited) < 4 || length(&invited) > 5 {
		t.Errorf("%d invited, %d refused", length(&invited), length(&refused))
	}
}

func length(m *sync.Map) (n int) {
	m.Range(func(any, any) bool { n++; return true })
	return n
}

// TestMembersOfSingleSignOn: members other than super-admins are invited without a password.
func TestMembersOfSingleSignOn(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.exec(`UPDATE organizations SET auth_type = 'federated_idp' WHERE id = $1`, f.a)
	_, err := f.Invite(t.Context(), f.super, newID(), []org.Invitee{
		{Email: "user@example.com", Name: "x", Role: general}, {Email: "boss@example.com", Name: "x", Role: super},
	})
	f.must(err)
	if told := f.accounts.take(); !slices.Equal(told, []string{
		"federate user@example.com",
		"invite boss@example.com",
	}) {
		t.Errorf("told %v", told)
	}
	user := f.find("user@example.com")
	if user.AuthType != identity.AuthFederated || f.find("boss@example.com").AuthType != identity.AuthCognito {
		t.Errorf("invited %+v", user)
	}
	f.must(f.Resend(t.Context(), f.super, user.ID))
	if told := f.accounts.take(); !slices.Equal(told, []string{"federate user@example.com"}) {
		t.Errorf("told %v", told)
	}
}

func TestInvitationsSentAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.invite(newID(), "new@example.com")
	f.accounts.take()
	m := f.find("new@example.com")
	f.exec(`UPDATE users SET invited_at = now() - interval '1 day'`)
	f.must(f.Resend(t.Context(), f.admin, m.ID))
	if told := f.accounts.take(); !slices.Equal(told, []string{"resend new@example.com"}) ||
		time.Since(*f.find("new@example.com").InvitedAt) > time.Hour {
		t.Errorf("told %v", told)
	}
	f.accounts.fail("resend new@example.com", errProvider)
	if err := f.Resend(t.Context(), f.admin, m.ID); !errors.Is(err, errProvider) {
		t.Errorf("the provider is away: %v", err)
	}
	f.exec(`UPDATE users SET last_signed_in_at = now() WHERE id = $1`, m.ID)
	if err := f.Resend(t.Context(), f.admin, m.ID); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("to somebody who has signed in: %v", err)
	}
	if err := f.Resend(t.Context(), f.admin, f.super.ID); !errors.Is(err, org.ErrForbidden) {
		t.Errorf("an admin to a super-admin: %v", err)
	}
}

// TestRemovedWhileInvited: the account of a member who is removed during its creation is deleted.
func TestRemovedWhileInvited(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.accounts.holding = make(chan struct{})
	done := make(chan []org.InviteResult)
	go func() {
		invitations, err := f.Invite(context.WithoutCancel(t.Context()), f.admin, newID(), people("new@example.com"))
		if err != nil {
			t.Error(err)
		}
		done <- results(invitations)
	}()
	select {
	case <-f.accounts.waiting:
	case <-time.After(time.Minute):
		t.Fatal("nobody is invited")
	}
	f.must(f.RemoveMember(t.Context(), f.admin, f.find("new@example.com").ID))
	close(f.accounts.holding)
	if got := <-done; !slices.Equal(got, []org.InviteResult{org.InviteFailed}) {
		t.Errorf("got %v", got)
	}
	told := f.accounts.take()
	if len(told) != 2 || told[0][:6] != "delete" || told[1] != "invite new@example.com" {
		t.Errorf("told %v", told)
	}
	if n := f.count(`SELECT count(*) FROM account_changes`); n != 0 {
		t.Errorf("%d changes are left", n)
	}
}

// TestAddressesOfRemovedMembers: a member who is invited again gets a new account, even if deleting the old one failed
// at first.
func TestAddressesOfRemovedMembers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.invite(newID(), "new@example.com")
	first := f.find("new@example.com")
	f.accounts.fail("delete "+first.Subject, errProvider)
	f.must(f.RemoveMember(t.Context(), f.admin, first.ID))
	f.accounts.fail("delete "+first.Subject, nil)
	f.exec(`UPDATE account_changes SET due_at = now()`)
	f.accounts.take()
	if got := f.invite(newID(), "new@example.com"); !slices.Equal(got, []org.InviteResult{org.Invited}) {
		t.Fatalf("got %v", got)
	}
	if told := f.accounts.take(); !slices.Equal(told, []string{"delete " + first.Subject, "invite new@example.com"}) {
		t.Errorf("told %v", told)
	}
	second := f.find("new@example.com")
	if second.Subject == first.Subject {
		t.Error("the old account was given away")
	}
	// An account used by another member is not deleted.
	f.exec(`INSERT INTO account_changes (user_id, organization_id, subject, email, remove, due_at)
		VALUES ($1, $2, $3, '', true, now())`,
		first.ID, f.a, second.Subject)
	if n := f.SweepOnce(t.Context()); n != 1 || len(f.accounts.take()) != 0 {
		t.Error("somebody's account was removed")
	}
}

// crowded is a database with many removed members while the provider is unavailable.
type crowded struct {
	org.Store
}

func (crowded) BeginInvite(context.Context, org.InviteCall) (org.BeginInviteResult, error) {
	return org.BeginInviteResult{
		Invitations: []org.Invitation{{Result: org.NoSeat}},
		Leftovers:   make([]uuid.UUID, org.MaxInvitees),
	}, nil
}

func (crowded) ClaimAccountChanges(ctx context.Context, _ *uuid.UUID, _ time.Duration, _ int) ([]org.AccountChange,
	error,
) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (crowded) EndInvite(context.Context, uuid.UUID, uuid.UUID, []org.Invitation) error { return nil }

// TestInvitationsEndBeforeTheirClaim: a call ends before its claim expires, so that no other server processes it.
func TestInvitationsEndBeforeTheirClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := org.NewService(crowded{}, nil, nil, slog.New(slog.DiscardHandler))
		began := time.Now()
		_, err := s.Enroll(t.Context(), org.System(), newID(), people("new@example.com")[0])
		if took := time.Since(began); took > 70*time.Second || !errors.Is(err, org.ErrNoSeat) {
			t.Errorf("%v after %v", err, took)
		}
	})
}

func TestForgottenInvitations(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.invite(newID(), "old@example.com")
	f.exec(`UPDATE invite_requests SET created_at = now() - interval '8 days'`)
	f.invite(newID(), "new@example.com")
	f.SweepOnce(t.Context())
	if n := f.count(`SELECT count(*) FROM invite_requests`); n != 1 {
		t.Errorf("%d calls are remembered", n)
	}
}
