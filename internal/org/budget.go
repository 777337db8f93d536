package org

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// The refusals of a Budget.
var (
	ErrTokenLimit = fault.Errorf(fault.TokenLimit,
		"今月のトークン数の上限に達したため、新しいメッセージを送信できません。管理者にお問い合わせください。")
	ErrContractEnded = fault.Errorf(fault.ContractEnded,
		"ご契約が終了しているため、新しいメッセージを送信できません。管理者にお問い合わせください。")
)

// Percents of the month's tokens at which administrators are told.
const (
	nearLimit = 80
	atLimit   = 100
)

const (
	balanceAge  = 5 * time.Second // How long what was read is taken for true.
	balanceLook = 4 * time.Second // After how long it is read again, so that nobody waits where many ask.
	maxBalances = 10_000          // Of organizations that are remembered. Some 200 bytes each.
)

// Balance is how an organization stands with its contract.
type Balance struct {
	Over     bool  // The contract is suspended or ended, or its last day is over.
	Limit    int64 // Tokens of a month.
	Used     int64 // This month.
	Notified int   // The highest percentage that administrators were told of this month; 0 for none.
}

// percent returns the highest percentage that administrators are to be told of.
func (b Balance) percent() int {
	switch {
	case b.Used >= b.Limit:
		return atLimit
	case b.Used >= b.Limit-b.Limit/5:
		return nearLimit
	default:
		return 0
	}
}

// untold reports whether administrators are to be told of more than they were.
func (b Balance) untold() bool { return !b.Over && b.percent() > b.Notified }

// BudgetStore is what a Budget needs of a database.
type BudgetStore interface {
	// Balance returns how an organization stands, or ErrNoOrganization. Months are Japan's.
	Balance(ctx context.Context, organizationID uuid.UUID) (Balance, error)

	// PublishLimitNotice adds a notice for an organization's administrators that so many percent of this month's tokens
	// are used, unless they were told of as much or more this month, by whichever server.
	PublishLimitNotice(ctx context.Context, organizationID uuid.UUID, percent int, notice Notification) error
}

// Budget keeps organizations within their contracts. What it knows is at most balanceAge old, and what this server
// spends counts at once: together, servers may exceed a limit by what they spend in that time. It is safe for
// concurrent use.
type Budget struct {
	store BudgetStore
	log   *slog.Logger

	root    context.Context // Ended by Stop.
	cancel  context.CancelFunc
	looking sync.WaitGroup // Goroutines that read balances. Add under mu while not stopped.

	mu       sync.Mutex
	stopped  bool                   // Guarded by mu.
	balances map[uuid.UUID]*balance // Guarded by mu, with what they point to.
}

// balance is what is known of an organization. It is guarded by the Budget's mu.
type balance struct {
	Balance
	asOf time.Time     // When reading it began. Zero: never read.
	look chan struct{} // Closed when the reading under way is over; nil for none.
	err  error         // Of the last reading.
	late int64         // Tokens spent since it began, which may not be in it.
}

// NewBudget returns a Budget. Stop must be called.
func NewBudget(store BudgetStore, log *slog.Logger) *Budget {
	root, cancel := context.WithCancel(context.Background())
	return &Budget{store: store, log: log, root: root, cancel: cancel, balances: make(map[uuid.UUID]*balance)}
}

// Stop ends what the Budget does by itself, and waits for it.
func (b *Budget) Stop() {
	b.mu.Lock()
	b.stopped = true
	b.mu.Unlock()
	b.cancel()
	b.looking.Wait()
}

// Check returns ErrContractEnded or ErrTokenLimit where an organization may not ask anything more. Other errors are the
// database's. It asks the database at most once in balanceLook for an organization, however many callers wait for it.
func (b *Budget) Check(ctx context.Context, organizationID uuid.UUID) error {
	b.mu.Lock()
	known := b.get(organizationID)
	var look <-chan struct{}
	age := time.Since(known.asOf)
	if age >= balanceLook {
		look = b.begin(organizationID, known)
	}
	if age < balanceAge {
		defer b.mu.Unlock()
		return known.verdict()
	}
	b.mu.Unlock()
	select {
	case <-b.root.Done():
		return fault.Errorf(fault.Unavailable, "サーバーを再起動しています。少し時間をおいて、もう一度お試しください。")
	case <-look:
	case <-ctx.Done():
		return fault.Wrap(ctx.Err(), fault.Unavailable, "ただいま混み合っています。少し時間をおいて、もう一度お試しください。")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if known.err != nil {
		return known.err
	}
	return known.verdict()
}

// verdict is guarded by the Budget's mu.
func (b *balance) verdict() error {
	switch {
	case b.Over:
		return ErrContractEnded
	case b.Used >= b.Limit:
		return ErrTokenLimit
	}
	return nil
}

// Spent counts tokens that an organization has used, and sees to it that its administrators are told in time. It does
// not block.
func (b *Budget) Spent(organizationID uuid.UUID, tokens int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	known := b.get(organizationID)
	known.Used += int64(max(tokens, 0))
	known.late += int64(max(tokens, 0))
	if time.Since(known.asOf) >= balanceAge || known.untold() {
		b.begin(organizationID, known)
	}
}

// get returns what is known of an organization. The caller holds mu.
func (b *Budget) get(id uuid.UUID) *balance {
	known := b.balances[id]
	if known == nil {
		if len(b.balances) >= maxBalances {
			clear(b.balances) // Rare, and those in use are soon back.
		}
		known = &balance{}
		b.balances[id] = known
	}
	return known
}

// begin has an organization's balance read, unless that is under way or the Budget has stopped, and returns what is
// closed when it is over. The caller holds mu.
func (b *Budget) begin(id uuid.UUID, known *balance) <-chan struct{} {
	if known.look == nil && !b.stopped {
		known.look, known.late = make(chan struct{}), 0
		b.looking.Go(func() { b.read(id, known) })
	}
	return known.look
}

// read reads a balance and has administrators told. It runs in a goroutine of its own, one for an organization.
func (b *Budget) read(id uuid.UUID, known *balance) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(b.root, storePatience)
	defer cancel()
	fresh, err := b.store.Balance(ctx, id)
	if percent := fresh.percent(); err == nil && fresh.untold() {
		if told := b.store.PublishLimitNotice(ctx, id, percent, limitNotice(id, percent, fresh)); told != nil {
			b.log.WarnContext(ctx, "telling administrators of their tokens failed, trying again later",
				"organization_id", id, "err", told)
		} else {
			fresh.Notified = percent
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	close(known.look)
	known.look, known.err = nil, err
	if err != nil {
		return
	}
	known.Balance, known.asOf = fresh, began
	// It may be in what was read already. Then it counts twice until the next reading, which is what administrators are
	// told by. Nothing else is looked at again at once: notices that fail would have it read without an end.
	if known.Used += known.late; known.late > 0 && known.untold() {
		b.begin(id, known)
	}
}

// limitNotice is what administrators are told.
func limitNotice(organizationID uuid.UUID, percent int, b Balance) Notification {
	n := Notification{
		ID: newID(), OrganizationID: &organizationID, Audience: AudienceAdmins, Level: LevelWarning,
		URL:   "/admin/contract",
		Title: fmt.Sprintf("今月のトークン数が上限の%d%%に達しました", percent),
		Body: fmt.Sprintf("今月は%s / %sトークンを利用しています。上限に達すると、翌月まで新しいメッセージを送信できなくなります。",
			grouped(b.Used), grouped(b.Limit)),
	}
	if percent >= atLimit {
		n.Title = "今月のトークン数が上限に達しました"
		n.Body = fmt.Sprintf("上限（%sトークン）に達したため、翌月までメンバーは新しいメッセージを送信できません。上限の変更は、ご契約窓口にお問い合わせください。",
			grouped(b.Limit))
	}
	return n
}

// grouped writes a number with a comma before every three digits.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
