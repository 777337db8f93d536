package org_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/org"
)

// someone is a member for tests that do not depend on the member.
var someone = uuid.New()

// purse is a store with one balance and slow reads. No member has a limit, so no member's balance is read.
type purse struct {
	org.Store

	mu      sync.Mutex // Guards the fields below.
	balance org.Balance
	err     error
	refused error // The result of adding a notice.
	reads   int
	notices []int
}

func (p *purse) Balance(ctx context.Context, _ uuid.UUID) (org.Balance, error) {
	p.mu.Lock()
	p.reads++
	b, err := p.balance, p.err
	p.mu.Unlock()
	select {
	case <-time.After(10 * time.Millisecond):
		return b, err
	case <-ctx.Done():
		return b, ctx.Err()
	}
}

func (p *purse) MemberBalance(context.Context, uuid.UUID, uuid.UUID) (org.Balance, error) {
	return org.Balance{}, errors.New("the balance of a member is read")
}

func (p *purse) PublishMemberNotice(context.Context, int, org.Notification) error { return nil }

func (p *purse) PublishLimitNotice(_ context.Context, _ uuid.UUID, percent int, _ org.Notification) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused != nil {
		return p.refused
	}
	p.notices = append(p.notices, percent)
	p.balance.Notified = percent
	return nil
}

// spend stores tokens, like the end of an answer does, and calls the budget's RecordUsage.
func (p *purse) spend(b *org.Budget, id uuid.UUID, tokens int) {
	p.mu.Lock()
	p.balance.Used += int64(tokens)
	p.mu.Unlock()
	b.RecordUsage(id, someone, tokens)
}

func (p *purse) state() (reads int, notices []int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reads, p.notices
}

func TestBudgetRarelyReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &purse{balance: org.Balance{Limit: 1000}}
		b := org.NewBudget(p, slog.New(slog.DiscardHandler))
		defer b.Stop()
		id := uuid.New()
		var all sync.WaitGroup
		for range 100 {
			all.Go(func() {
				for range 4 {
					if err := b.Check(t.Context(), id, someone); err != nil {
						t.Error(err)
					}
					p.spend(b, id, 1)
					<-time.After(time.Second)
				}
			})
		}
		all.Wait()
		if reads, _ := p.state(); reads != 1 {
			t.Errorf("%d readings in four seconds", reads)
		}
		<-time.After(2 * time.Second)
		for range 10 {
			if err := b.Check(t.Context(), id, someone); err != nil {
				t.Error(err)
			}
		}
		if reads, notices := p.state(); reads != 2 || len(notices) != 0 {
			t.Errorf("%d readings in seven seconds, notices %v", reads, notices)
		}
	})
}

func TestBudgetHolds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &purse{balance: org.Balance{Limit: 10}}
		b := org.NewBudget(p, slog.New(slog.DiscardHandler))
		defer b.Stop()
		id := uuid.New()
		check := func(what string, want error) {
			t.Helper()
			if err := b.Check(t.Context(), id, someone); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", what, err, want)
			}
		}
		noticed := func(what string, want ...int) {
			t.Helper()
			<-time.After(100 * time.Millisecond)
			if _, notices := p.state(); len(notices) != len(want) ||
				(len(want) > 0 && notices[len(want)-1] != want[len(want)-1]) {
				t.Errorf("%s: notices %v, want %v", what, notices, want)
			}
		}
		check("nothing spent", nil)
		p.spend(b, id, 7)
		noticed("7 of 10")
		p.spend(b, id, 1)
		noticed("8 of 10", 80)
		p.spend(b, id, 1)
		check("9 of 10", nil)
		p.spend(b, id, 1)
		check("10 of 10, at once", org.ErrTokenLimit)
		noticed("10 of 10", 80, 100)
		p.spend(b, id, 5)
		noticed("answers that were under way", 80, 100)

		set := func(balance org.Balance, err error) {
			p.mu.Lock()
			p.balance, p.err = balance, err
			p.mu.Unlock()
			<-time.After(5 * time.Second)
		}
		set(org.Balance{Limit: 100, Used: 15, Notified: 100}, nil)
		check("a higher limit", nil)
		set(org.Balance{Limit: 100, Over: true}, nil)
		check("the contract is over", org.ErrContractEnded)
		down := fault.Errorf(fault.Unavailable, "down")
		set(org.Balance{}, down)
		check("the database is away", down)
		set(org.Balance{Limit: 100}, nil)
		check("the database is back", nil)
	})
}

// TestBudgetDoesNotRepeatReads: a limit that needs no notice, or whose notice fails, does not cause repeated reads.
func TestBudgetDoesNotRepeatReads(t *testing.T) {
	t.Parallel()
	for what, p := range map[string]*purse{
		"the contract is over": {balance: org.Balance{Limit: 10, Used: 9, Over: true}},
		"notices fail": {
			balance: org.Balance{Limit: 10, Used: 9},
			refused: fault.Errorf(fault.Unavailable, "down"),
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			b := org.NewBudget(p, slog.New(slog.DiscardHandler))
			defer b.Stop()
			id := uuid.New()
			_ = b.Check(t.Context(), id, someone)
			<-time.After(4 * time.Second)
			if reads, _ := p.state(); reads != 1 {
				t.Errorf("%s: %d readings in four seconds", what, reads)
			}
			for range 3 {
				p.spend(b, id, 0)
			}
			<-time.After(500 * time.Millisecond)
			if reads, _ := p.state(); reads > 2 {
				t.Errorf("%s: %d readings for three answers at once", what, reads)
			}
		})
	}
}

// TestBusyBudgetIsReloadedInTheBackground: while messages arrive, the balance is reloaded before it expires.
func TestBusyBudgetIsReloadedInTheBackground(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &purse{balance: org.Balance{Limit: 10}}
		b := org.NewBudget(p, slog.New(slog.DiscardHandler))
		defer b.Stop()
		id := uuid.New()
		for i := range 30 {
			began := time.Now()
			if err := b.Check(t.Context(), id, someone); err != nil || (i > 0 && time.Since(began) > 0) {
				t.Errorf("message %d waits for %v, %v", i, time.Since(began), err)
			}
			<-time.After(500 * time.Millisecond)
		}
		if reads, _ := p.state(); reads != 4 {
			t.Errorf("%d readings in fifteen seconds", reads)
		}
	})
}

// TestNoticeAfterALongAnswer: an answer that ends without later questions also causes the notice.
func TestNoticeAfterALongAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := &purse{balance: org.Balance{Limit: 10}}
		b := org.NewBudget(p, slog.New(slog.DiscardHandler))
		defer b.Stop()
		p.spend(b, uuid.New(), 20)
		<-time.After(time.Second)
		if _, notices := p.state(); len(notices) != 1 || notices[0] != 100 {
			t.Errorf("notices %v", notices)
		}
	})
}

func TestStoppedBudgetReturnsAnError(t *testing.T) {
	t.Parallel()
	b := org.NewBudget(&purse{}, slog.New(slog.DiscardHandler))
	b.Stop()
	b.RecordUsage(uuid.New(), someone, 1)
	if err := b.Check(t.Context(), uuid.New(), someone); fault.CodeOf(err) != fault.Unavailable {
		t.Errorf("got %v", err)
	}
}

// TestLimitNoticeIsPublishedOnce: several servers detect the same limits, and administrators are notified once per
// limit.
func TestLimitNoticeIsPublishedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	user := f.actor(f.a, "user", general)
	tokens := int64(1000)
	_, err := f.db.SetContract(t.Context(), f.a, org.ContractEdit{Tokens: &tokens}, org.Operator("root"))
	f.must(err)
	// Last month's usage does not count, by Japan's calendar.
	f.exec(`INSERT INTO usage_daily
		VALUES ($1, date_trunc('month', now() AT TIME ZONE 'Asia/Tokyo')::date - 1, $2, 1, 900, 900)`, f.a, user.ID)
	spend := func(total int) []error {
		f.exec(`INSERT INTO usage_daily
			VALUES ($1, date_trunc('month', now() AT TIME ZONE 'Asia/Tokyo')::date, $2, 1, $3, 0)
			ON CONFLICT (organization_id, date, user_id) DO UPDATE SET input_tokens = $3`, f.a, user.ID, total)
		errs := make([]error, 6)
		var servers sync.WaitGroup
		for i := range errs {
			servers.Go(func() {
				b := org.NewBudget(f.db, slog.New(slog.DiscardHandler))
				defer b.Stop()
				b.RecordUsage(f.a, user.ID, 1)
				errs[i] = b.Check(t.Context(), f.a, user.ID)
			})
		}
		servers.Wait()
		return errs
	}
	titles := func(actor uuid.UUID) (list []string) {
		notices, err := f.Notifications(t.Context(), f.a, actor, 0, 10)
		f.must(err)
		for _, n := range notices {
			list = append(list, n.Title)
		}
		return list
	}
	for _, step := range []struct {
		used, notices int
		want          error
	}{{799, 0, nil}, {800, 1, nil}, {950, 1, nil}, {1000, 2, org.ErrTokenLimit}, {1200, 2, org.ErrTokenLimit}} {
		for _, err := range spend(step.used) {
			if !errors.Is(err, step.want) {
				t.Errorf("%d used: %v, want %v", step.used, err, step.want)
			}
		}
		if got := titles(f.admin.ID); len(got) != step.notices {
			t.Errorf("%d used: notices %v, want %d", step.used, got, step.notices)
		}
	}
	got := titles(f.super.ID)
	if len(got) != 2 || !strings.Contains(got[0], "上限に達しました") || !strings.Contains(got[1], "80%") {
		t.Errorf("a super-admin reads %v", got)
	}
	if got := titles(user.ID); len(got) != 0 {
		t.Errorf("a general user reads %v", got)
	}
	if view, err := f.Contract(t.Context(), f.admin); err != nil || view.TokensUsed != 1200 {
		t.Errorf("%d tokens are used, %v", view.TokensUsed, err)
	}
}

func TestEndedContracts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	// Today and yesterday, in Japan.
	for what, c := range map[string]struct {
		sql  string
		want error
	}{
		"active":            {`status = 'active'`, nil},
		"trial":             {`status = 'trial'`, nil},
		"suspended":         {`status = 'suspended'`, org.ErrContractEnded},
		"ended":             {`status = 'ended'`, org.ErrContractEnded},
		"its last day":      {`ends_on = (now() AT TIME ZONE 'Asia/Tokyo')::date`, nil},
		"after it":          {`ends_on = (now() AT TIME ZONE 'Asia/Tokyo')::date - 1`, org.ErrContractEnded},
		"nothing to use":    {`tokens = 0`, org.ErrTokenLimit},
		"over, and used up": {`tokens = 0, status = 'ended'`, org.ErrContractEnded},
	} {
		id := newID()
		f.must(f.db.CreateOrganization(t.Context(), org.Organization{ID: id, Name: what, AuthType: "cognito"}))
		f.exec(`UPDATE contracts SET starts_on = '2020-01-01' WHERE organization_id = $1`, id)
		f.exec(`UPDATE contracts SET `+c.sql+` WHERE organization_id = $1`, id)
		b := org.NewBudget(f.db, slog.New(slog.DiscardHandler))
		if err := b.Check(t.Context(), id, someone); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
		b.Stop()
	}
}
