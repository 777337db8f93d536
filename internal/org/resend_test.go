package org_test

import (
	"context"
	"errors"
	"log/slog"
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

// strand invites a person with single sign-on, signs them in, and disables single sign-on.
func strand(f *fixture, email string) org.Member {
	f.t.Helper()
	f.exec(`UPDATE organizations SET auth_type = 'federated_idp' WHERE id = $1`, f.a)
	f.invite(newID(), email)
	m := f.find(email)
	f.exec(
		`UPDATE users SET invited_at = now() - interval '2 days', last_signed_in_at = now() - interval '1 day'
			WHERE id = $1`,
		m.ID,
	)
	if err := f.Resend(f.t.Context(), f.admin, m.ID); fault.CodeOf(err) != fault.Conflict {
		f.t.Errorf("while single sign-on is on: %v", err)
	}
	f.exec(`UPDATE organizations SET auth_type = 'cognito' WHERE id = $1`, f.a)
	f.accounts.take()
	return m
}

// forget deletes an account at the provider. A new one has another subject.
func (a *accounts) forget(email string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.subject, email)
}

// moved counts the audit entries about a changed sign-in method.
func (f *fixture) moved(id uuid.UUID) int {
	f.t.Helper()
	return f.count(
		`SELECT count(*) FROM audit_events WHERE action = 'member.edit' AND target_id = $1
			AND details @> '[{"field": "auth_type"}]'`,
		id.String(),
	)
}

// resends counts the audit entries about repeated invitations, sent and failed.
func (f *fixture) resends(id uuid.UUID) (sent, failed int) {
	f.t.Helper()
	const entries = `SELECT count(*) FROM audit_events WHERE action = 'member.resend' AND target_id = $1
		AND details @> `
	return f.count(entries+`'[{"field": "email"}]'`, id.String()),
		f.count(entries+`'[{"field": "result", "after": "failed"}]'`, id.String())
}

// TestMembersAfterSingleSignOnIsDisabled: members added by single sign-on get a password when it is off, and remain
// the same members, whether the provider keeps the account or creates another one.
func TestMembersAfterSingleSignOnIsDisabled(t *testing.T) {
	t.Parallel()
	for _, other := range []bool{false, true} {
		f := newFixture(t)
		m := strand(f, "new@example.com")
		if other {
			f.accounts.forget(m.Email)
		}
		f.must(f.Resend(t.Context(), f.admin, m.ID))
		if told := f.accounts.take(); !slices.Equal(told, []string{"invite new@example.com"}) {
			t.Errorf("told %v", told)
		}
		now := f.find(m.Email)
		if now.ID != m.ID || now.AuthType != identity.AuthCognito || (now.Subject != m.Subject) != other ||
			time.Since(*now.InvitedAt) > time.Hour {
			t.Errorf("got %+v of %+v", now, m)
		}
		if n := f.moved(m.ID); n != 1 {
			t.Errorf("%d entries of the audit log", n)
		}
		invited, _, err := f.Members(t.Context(), f.admin, org.MemberQuery{State: org.MemberInvited, Limit: 10})
		if err != nil || len(invited) != 1 || invited[0].ID != m.ID {
			t.Errorf("invited are %+v, %v", invited, err)
		}
		// The invitation can be repeated until they sign in.
		f.must(f.Resend(t.Context(), f.admin, m.ID))
		if told := f.accounts.take(); !slices.Equal(told, []string{"resend new@example.com"}) {
			t.Errorf("again: told %v", told)
		}
		f.exec(`UPDATE users SET last_signed_in_at = now() WHERE id = $1`, m.ID)
		if err := f.Resend(t.Context(), f.admin, m.ID); fault.CodeOf(err) != fault.Conflict ||
			len(f.accounts.take()) != 0 {
			t.Errorf("to somebody who has signed in: %v", err)
		}
	}
}

func TestWhoIsNotInvitedToAPassword(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	m := strand(f, "new@example.com")
	f.exec(`UPDATE users SET role = 'organization-admin' WHERE id = $1`, m.ID)
	if err := f.Resend(t.Context(), f.admin, m.ID); !errors.Is(err, org.ErrForbidden) {
		t.Errorf("an admin by an admin: %v", err)
	}
	f.exec(`UPDATE users SET role = 'general-user', state = 'inactive' WHERE id = $1`, m.ID)
	if err := f.Resend(t.Context(), f.admin, m.ID); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("somebody inactive: %v", err)
	}
	f.exec(`UPDATE users SET state = 'active' WHERE id = $1`, m.ID)
	f.exec(`UPDATE users SET auth_type = 'federated_idp' WHERE id = $1`, f.super.ID)
	if err := f.Resend(t.Context(), f.super, f.super.ID); !errors.Is(err, org.ErrSelf) {
		t.Errorf("themself: %v", err)
	}
	if err := f.Resend(t.Context(), f.other, m.ID); !errors.Is(err, org.ErrNoMember) {
		t.Errorf("another organization's: %v", err)
	}
	f.exec(`UPDATE users SET role = 'general-user' WHERE id = $1`, f.admin.ID)
	if err := f.Resend(t.Context(), f.admin, m.ID); !errors.Is(err, org.ErrForbidden) {
		t.Errorf("by somebody demoted just now: %v", err)
	}
	if told := f.accounts.take(); len(told) != 0 || f.find(m.Email).AuthType != identity.AuthFederated {
		t.Errorf("told %v", told)
	}
}

// TestPasswordInvitationsThatFail: a failed invitation changes nothing, and can be retried.
func TestPasswordInvitationsThatFail(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	m := strand(f, "new@example.com")
	f.accounts.fail("invite new@example.com", errProvider)
	if err := f.Resend(t.Context(), f.admin, m.ID); !errors.Is(err, errProvider) {
		t.Errorf("the provider is away: %v", err)
	}
	now := f.find(m.Email)
	if now.Subject != m.Subject || now.AuthType != identity.AuthFederated || f.moved(m.ID) != 0 {
		t.Errorf("got %+v", now)
	}
	if sent, failed := f.resends(m.ID); sent != 1 || failed != 1 {
		t.Errorf("logged %d times, %d failures", sent, failed)
	}
	f.accounts.fail("invite new@example.com", nil)
	var both sync.WaitGroup // Two administrators concurrently.
	for range 2 {
		both.Go(func() {
			if err := f.service().Resend(t.Context(), f.super, m.ID); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	if now := f.find(m.Email); now.ID != m.ID || now.AuthType != identity.AuthCognito || f.moved(m.ID) != 1 {
		t.Errorf("got %+v", now)
	}
}

// TestChangedWhileInvitedToAPassword: concurrent changes of the member reach the new account.
func TestChangedWhileInvitedToAPassword(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	m := strand(f, "new@example.com")
	f.accounts.forget(m.Email)
	inactive := identity.StateInactive
	f.accounts.meets["invite new@example.com"] = func() {
		_, err := f.EditMember(t.Context(), f.super, m.ID, org.MemberEdit{State: &inactive})
		f.must(err)
	}
	f.must(f.Resend(t.Context(), f.admin, m.ID))
	f.SweepOnce(t.Context())
	now := f.find(m.Email)
	if told := f.accounts.take(); now.Subject == m.Subject || !slices.Contains(told, "disable "+now.Subject) {
		t.Errorf("told %v of %+v", told, now)
	}

	m = strand(f, "gone@example.com")
	f.accounts.forget(m.Email)
	f.accounts.meets["invite gone@example.com"] = func() { f.must(f.RemoveMember(t.Context(), f.super, m.ID)) }
	if err := f.Resend(t.Context(), f.admin, m.ID); !errors.Is(err, org.ErrNoMember) {
		t.Errorf("removed meanwhile: %v", err)
	}
	told := f.accounts.take()
	if len(told) != 3 || told[0] == told[1] || !strings.HasPrefix(told[1], "delete ") ||
		f.count(`SELECT count(*) FROM account_changes`) != 0 {
		t.Errorf("told %v", told)
	}
}

// TestInvitedMembersWithoutAnAccount: members whose account was deleted at the provider are invited again.
func TestInvitedMembersWithoutAnAccount(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.invite(newID(), "new@example.com")
	m := f.find("new@example.com")
	f.accounts.forget(m.Email)
	f.accounts.take()
	f.accounts.fail("resend new@example.com", fault.Errorf(fault.NotFound, "nobody"))
	f.must(f.Resend(t.Context(), f.admin, m.ID))
	if now, told := f.find(m.Email), f.accounts.take(); now.Subject == m.Subject ||
		!slices.Equal(told, []string{"invite new@example.com"}) {
		t.Errorf("told %v, %+v", told, now)
	}
}

// interrupted is a database that fails after an invitation was sent.
type interrupted struct{ org.Store }

func (interrupted) MarkInvited(context.Context, org.Member, org.AuditActor) error { return errDatabase }

var errDatabase = fault.Errorf(fault.Unavailable, "the database is away")

// TestEveryInvitationIsLogged: every sent invitation is in the audit log, even if the database fails at that moment.
func TestEveryInvitationIsLogged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.invite(newID(), "new@example.com")
	m := f.find("new@example.com")
	f.accounts.take()
	s := org.NewService(interrupted{f.db}, f.accounts, nil, slog.New(slog.DiscardHandler))
	if err := s.Resend(t.Context(), f.admin, m.ID); !errors.Is(err, errDatabase) {
		t.Errorf("got %v", err)
	}
	if told := f.accounts.take(); !slices.Equal(told, []string{"resend new@example.com"}) {
		t.Errorf("told %v", told)
	}
	if sent, failed := f.resends(m.ID); sent != 1 || failed != 0 {
		t.Errorf("logged %d times, %d failures", sent, failed)
	}
	f.must(f.Resend(t.Context(), f.admin, m.ID)) // After the error the administrator retries.
	if sent, _ := f.resends(m.ID); sent != 2 {
		t.Errorf("logged %d times", sent)
	}
}

// hasty is a browser that disconnects while the provider sends a mail.
type hasty struct {
	*accounts
	leave context.CancelFunc
}

func (h hasty) Resend(ctx context.Context, email string) error {
	h.leave()
	if err := ctx.Err(); err != nil {
		return err
	}
	return h.accounts.Resend(ctx, email)
}

// TestResendingOutlivesItsRequest: sending mail may take longer than the client waits.
func TestResendingOutlivesItsRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.invite(newID(), "new@example.com")
	m := f.find("new@example.com")
	f.exec(`UPDATE users SET invited_at = now() - interval '1 day' WHERE id = $1`, m.ID)
	ctx, leave := context.WithCancel(t.Context())
	f.must(org.NewService(f.db, hasty{f.accounts, leave}, nil, slog.New(slog.DiscardHandler)).Resend(ctx, f.admin,
		m.ID))
	if now := f.find(m.Email); time.Since(*now.InvitedAt) > time.Hour {
		t.Errorf("got %+v", now)
	}
}
