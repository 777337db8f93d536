package org_test

import (
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

func tokens(n int64) *int64 { return &n }

// used sets a member's usage of this month.
func (f *fixture) used(actor identity.Actor, total int) {
	f.t.Helper()
	f.exec(`INSERT INTO usage_daily
		VALUES ($1, (now() AT TIME ZONE 'Asia/Tokyo')::date, $2, 1, $3, 0)
		ON CONFLICT (organization_id, date, user_id) DO UPDATE SET input_tokens = $3`,
		actor.OrganizationID, actor.ID, total)
}

// checked returns the error codes of several servers for a member's next message.
func (f *fixture) checked(actor identity.Actor, servers int) []fault.Code {
	f.t.Helper()
	codes := make([]fault.Code, servers)
	var all sync.WaitGroup
	for i := range codes {
		all.Go(func() {
			b := org.NewBudget(f.db, slog.New(slog.DiscardHandler))
			defer b.Stop()
			b.RecordUsage(actor.OrganizationID, actor.ID, 0)
			codes[i] = fault.CodeOf(b.Check(f.t.Context(), actor.OrganizationID, actor.ID))
		})
	}
	all.Wait()
	return codes
}

// limit sets a member's limit.
func (f *fixture) limit(actor identity.Actor, limit org.MemberLimit) {
	f.t.Helper()
	_, err := f.EditMember(f.t.Context(), f.super, actor.ID, org.MemberEdit{Limit: &limit})
	f.must(err)
}

func TestMemberLimitsApplyToOneMember(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	user, colleague := f.actor(f.a, "user", general), f.actor(f.a, "colleague", general)
	f.must(f.SetMemberTokens(t.Context(), f.admin, tokens(1000)))
	f.used(user, 1000)
	f.used(colleague, 999)
	f.used(f.other, 5000) // A member of another organization without a limit.
	// Last month's usage does not count, by Japan's calendar.
	f.exec(`INSERT INTO usage_daily
		VALUES ($1, date_trunc('month', now() AT TIME ZONE 'Asia/Tokyo')::date - 1, $2, 1, 900, 900)`, f.a, colleague.ID)
	check := func(what string, actor identity.Actor, want fault.Code) {
		t.Helper()
		if got := f.checked(actor, 1)[0]; got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	check("at the limit", user, fault.MemberLimit)
	check("below the limit", colleague, "")
	check("another organization", f.other, "")
	f.limit(user, org.MemberLimit{Rule: org.LimitOwn, Tokens: tokens(1001)})
	check("a limit of their own", user, "")
	f.limit(user, org.MemberLimit{Rule: org.LimitNone})
	check("no limit", user, "")
	f.limit(colleague, org.MemberLimit{Rule: org.LimitOwn, Tokens: tokens(10)})
	check("a lower limit of their own", colleague, fault.MemberLimit)
	f.must(f.SetMemberTokens(t.Context(), f.admin, nil))
	check("their own limit, without one for all", colleague, fault.MemberLimit)
	f.limit(colleague, org.MemberLimit{Rule: org.LimitDefault})
	check("no limit for all", colleague, "")
	f.limit(user, org.MemberLimit{Rule: org.LimitOwn, Tokens: tokens(10)})
	f.exec(`UPDATE contracts SET status = 'ended' WHERE organization_id = $1`, f.a)
	check("the contract comes first", user, fault.ContractEnded)
}

// TestMemberIsNotifiedOfTheirLimitOnce: several servers publish one notice at 80 % and one at 100 %, for this member
// only.
func TestMemberIsNotifiedOfTheirLimitOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	user := f.actor(f.a, "user", general)
	f.must(f.SetMemberTokens(t.Context(), f.admin, tokens(1000)))
	for _, step := range []struct {
		used, notices int
		want          fault.Code
	}{{799, 0, ""}, {800, 1, ""}, {950, 1, ""}, {1000, 2, fault.MemberLimit}, {1200, 2, fault.MemberLimit}} {
		f.used(user, step.used)
		for _, code := range f.checked(user, 6) {
			if code != step.want {
				t.Errorf("%d used: %q, want %q", step.used, code, step.want)
			}
		}
		got, err := f.Notifications(t.Context(), f.a, user.ID, 0, 10)
		f.must(err)
		if len(got) != step.notices {
			t.Fatalf("%d used: %d notices, want %d", step.used, len(got), step.notices)
		}
	}
	got, err := f.Notifications(t.Context(), f.a, user.ID, 0, 10)
	f.must(err)
	if !strings.Contains(got[0].Title, "上限に達しました") || !strings.Contains(got[1].Title, "80%") ||
		!strings.Contains(got[0].Body, "1日にリセット") {
		t.Errorf("the member reads %+v", got)
	}
	// Ignored, because the notice is for another member.
	f.must(f.MarkRead(t.Context(), f.a, f.admin.ID, []uuid.UUID{got[0].ID}))
	for _, other := range []identity.Actor{f.admin, f.super, f.other} {
		if got, err := f.Notifications(t.Context(), other.OrganizationID, other.ID, 0, 10); err != nil || len(got) > 0 {
			t.Errorf("%s reads %+v, %v", other.Name, got, err)
		}
	}
	if list, _, err := f.Notices(t.Context(), f.admin, 0, 10); err != nil || len(list) > 0 {
		t.Errorf("administrators are shown %+v among the notices, %v", list, err)
	}
	if n := f.count(`SELECT count(*) FROM notification_reads`); n != 0 {
		t.Errorf("somebody else's notice was marked as read")
	}
	f.exec(`UPDATE member_limit_notices SET month = (month - interval '1 month')::date`)
	if b, err := f.db.MemberBalance(t.Context(), f.a, user.ID); err != nil || b.Notified != 0 {
		t.Errorf("a month later: %+v, %v", b, err)
	}
}

func TestMemberLimitsAreValidatedAndLogged(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	user := f.actor(f.a, "user", general)
	if err := f.SetMemberTokens(t.Context(), user, tokens(5)); fault.CodeOf(err) != fault.Forbidden {
		t.Errorf("a general user sets the limit: %v", err)
	}
	if _, err := f.MemberTokens(t.Context(), user); fault.CodeOf(err) != fault.Forbidden {
		t.Errorf("a general user reads the limit: %v", err)
	}
	for _, n := range []int64{0, -1, 1_000_000_000_001} {
		if err := f.SetMemberTokens(t.Context(), f.admin, tokens(n)); fault.CodeOf(err) != fault.Invalid {
			t.Errorf("%d tokens: %v", n, err)
		}
	}
	for _, limit := range []org.MemberLimit{
		{},
		{Rule: "other"},
		{Rule: org.LimitOwn},
		{Rule: org.LimitNone, Tokens: tokens(1)},
		{Rule: org.LimitDefault, Tokens: tokens(1)},
		{Rule: org.LimitOwn, Tokens: tokens(0)},
	} {
		if _, err := f.EditMember(t.Context(), f.admin, user.ID, org.MemberEdit{Limit: &limit}); fault.CodeOf(err) !=
			fault.Invalid {
			t.Errorf("%+v: %v", limit, err)
		}
	}
	for range 2 { // The second call changes nothing.
		f.must(f.SetMemberTokens(t.Context(), f.admin, tokens(1000)))
		f.limit(user, org.MemberLimit{Rule: org.LimitOwn, Tokens: tokens(70)})
	}
	f.used(user, 20)
	if m := f.find(user.Email); m.LimitRule != org.LimitOwn || *m.LimitTokens != 70 || m.TokensUsed != 20 {
		t.Errorf("the member is %+v", m)
	}
	if own, err := f.OwnUsage(t.Context(), user); err != nil || own.TokenLimit == nil || *own.TokenLimit != 70 {
		t.Errorf("the member's own usage is %+v, %v", own, err)
	}
	events, _, err := f.AuditEvents(t.Context(), f.super, org.AuditQuery{Limit: 10})
	f.must(err)
	if len(events) != 2 || events[0].Action != org.ActionEdit ||
		events[0].Details[0] != (org.Change{Field: "token_limit", Before: "default", After: "70"}) ||
		events[1].Action != org.ActionMemberLimit ||
		events[1].Details[0] != (org.Change{Field: "tokens", After: "1000"}) {
		t.Errorf("the audit log has %+v", events)
	}
}

// TestMemberIsRefusedAtOnce: tokens spent on this server count before the balance is read again.
func TestMemberIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	user := f.actor(f.a, "user", general)
	f.must(f.SetMemberTokens(t.Context(), f.admin, tokens(1000)))
	b := org.NewBudget(f.db, slog.New(slog.DiscardHandler))
	defer b.Stop()
	f.must(b.Check(t.Context(), f.a, user.ID))
	b.RecordUsage(f.a, user.ID, 1000)
	err := b.Check(t.Context(), f.a, user.ID)
	next := time.Now().In(time.FixedZone("JST", 9*60*60))
	next = time.Date(next.Year(), next.Month()+1, 1, 0, 0, 0, 0, time.UTC)
	if text := fault.DetailOf(err); fault.CodeOf(err) != fault.MemberLimit || !strings.Contains(text, "1,000トークン") ||
		!strings.Contains(text, next.Format("1月2日")) || !strings.Contains(text, "管理者") {
		t.Errorf("got %v", err)
	}
	f.must(b.Check(t.Context(), f.a, f.admin.ID))
}
