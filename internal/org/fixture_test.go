package org_test

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
)

// fixture is a database with two organizations, and a service with a fake identity provider that records its calls.
type fixture struct {
	t        *testing.T
	db       *store.DB
	dsn      string
	sql      *pgxpool.Pool
	accounts *accounts
	*org.Service
	a, b  uuid.UUID      // Organizations.
	super identity.Actor // Super-admin of a.
	admin identity.Actor // Organization-admin of a.
	other identity.Actor // Super-admin of b.
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, dsn: storetest.DSN(t), accounts: newAccounts(), a: newID(), b: newID()}
	db, err := store.Open(t.Context(), f.dsn)
	f.must(err)
	t.Cleanup(db.Close)
	f.db, f.sql = db, storetest.Pool(t, f.dsn)
	f.Service = f.service()
	for _, id := range []uuid.UUID{f.a, f.b} {
		f.must(db.CreateOrganization(t.Context(), org.Organization{ID: id, Name: "試験株式会社", AuthType: "cognito"}))
	}
	f.super, f.admin, f.other = f.actor(f.a, "super", super), f.actor(f.a, "admin", admin), f.actor(f.b, "other", super)
	return f
}

// service returns another server's service on the same database and provider.
func (f *fixture) service() *org.Service {
	return org.NewService(f.db, f.accounts, nil, slog.New(slog.DiscardHandler))
}

// actor adds a member and returns their Actor.
func (f *fixture) actor(organizationID uuid.UUID, name string, role identity.Role) identity.Actor {
	f.t.Helper()
	id := newID()
	f.must(f.db.CreateUser(f.t.Context(), identity.NewUser{
		ID: id, OrganizationID: organizationID, Subject: "sub-" + name, Email: name + "@example.com", Name: name,
		Role:     role,
		AuthType: identity.AuthCognito,
	}))
	return identity.Actor{RequestID: "request", User: identity.User{
		ID: id, OrganizationID: organizationID, Email: name + "@example.com", Name: name, Role: role,
		State: identity.StateActive,
	}}
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

// exec executes SQL without a store method, such as moving a time into the past.
func (f *fixture) exec(sql string, args ...any) {
	f.t.Helper()
	_, err := f.sql.Exec(f.t.Context(), sql, args...)
	f.must(err)
}

// count returns the number returned by an SQL query.
func (f *fixture) count(sql string, args ...any) (n int) {
	f.t.Helper()
	f.must(f.sql.QueryRow(f.t.Context(), sql, args...).Scan(&n))
	return n
}

// seats sets the number of seats of an organization.
func (f *fixture) seats(organizationID uuid.UUID, n int) {
	f.t.Helper()
	_, err := f.db.SetContract(f.t.Context(), organizationID, org.ContractEdit{Seats: &n}, org.System())
	f.must(err)
}

// find returns a member of a by address.
func (f *fixture) find(email string) org.Member {
	f.t.Helper()
	m, err := f.db.FindMemberByEmail(f.t.Context(), email)
	f.must(err)
	return m
}

// invite invites general users by address and returns the results.
func (f *fixture) invite(requestID uuid.UUID, emails ...string) []org.InviteResult {
	f.t.Helper()
	invitations, err := f.Invite(f.t.Context(), f.admin, requestID, people(emails...))
	f.must(err)
	return results(invitations)
}

func people(emails ...string) []org.Invitee {
	list := make([]org.Invitee, len(emails))
	for i, email := range emails {
		list[i] = org.Invitee{Email: email, Name: "名前", Role: general}
	}
	return list
}

func results(invitations []org.Invitation) []org.InviteResult {
	list := make([]org.InviteResult, len(invitations))
	for i, invitation := range invitations {
		list[i] = invitation.Result
	}
	return list
}

// accounts is a fake identity provider that records its calls.
type accounts struct {
	mu      sync.Mutex // Guards the fields below.
	told    []string
	fails   map[string]error  // By call.
	meets   map[string]func() // Called once during a call, by call.
	subject map[string]string
	holding chan struct{} // Invitations wait until it is closed; nil for no wait.
	waiting chan struct{} // Receives when an invitation waits.
}

func newAccounts() *accounts {
	return &accounts{
		fails: make(map[string]error), meets: make(map[string]func()), subject: make(map[string]string),
		waiting: make(chan struct{}, 100),
	}
}

var errProvider = fault.Errorf(fault.Unavailable, "the provider is away")

// fail makes a call return an error; nil makes it succeed again.
func (a *accounts) fail(told string, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fails[told] = err
}

// take returns the calls since the last take, in alphabetical order.
func (a *accounts) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	told := slices.Sorted(slices.Values(a.told))
	a.told = nil
	return told
}

func (a *accounts) apply(words ...string) error {
	what := strings.Join(words, " ")
	a.mu.Lock()
	meet := a.meets[what]
	delete(a.meets, what)
	a.mu.Unlock()
	if meet != nil {
		meet()
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err := a.fails[what]; err != nil {
		return err
	}
	a.told = append(a.told, what)
	return nil
}

func (a *accounts) create(kind, email string) (string, error) {
	a.mu.Lock()
	hold := a.holding
	a.mu.Unlock()
	if hold != nil {
		a.waiting <- struct{}{}
		<-hold
	}
	if err := a.apply(kind, email); err != nil {
		return "", err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.subject[email] == "" {
		a.subject[email] = uuid.NewString()
	}
	return a.subject[email], nil
}

func (a *accounts) Invite(_ context.Context, email, _ string) (string, error) {
	return a.create("invite", email)
}

func (a *accounts) InviteFederated(_ context.Context, email, _ string) (string, error) {
	return a.create("federate", email)
}
func (a *accounts) Resend(_ context.Context, email string) error { return a.apply("resend", email) }
func (a *accounts) Rename(_ context.Context, subject, name string) error {
	return a.apply("rename", subject, name)
}

func (a *accounts) Disable(_ context.Context, subject string) error {
	return a.apply("disable", subject)
}

func (a *accounts) Enable(_ context.Context, subject string) error { return a.apply("enable", subject) }

func (a *accounts) ResetFactor(_ context.Context, subject string) error {
	return a.apply("reset factor", subject)
}

func (a *accounts) Delete(_ context.Context, subject string) error {
	if err := a.apply("delete", subject); err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for email, s := range a.subject {
		if s == subject {
			delete(a.subject, email)
		}
	}
	return nil
}

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }
