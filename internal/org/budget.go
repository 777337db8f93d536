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

// The errors of a Budget.
var (
	ErrTokenLimit = fault.Errorf(fault.TokenLimit,
		"今月のトークン数の上限に達したため、新しいメッセージを送信できません。管理者にお問い合わせください。")
	ErrContractEnded = fault.Errorf(fault.ContractEnded,
		"ご契約が終了しているため、新しいメッセージを送信できません。管理者にお問い合わせください。")
)

// Percentages of the monthly tokens at which administrators are notified.
const (
	nearLimit = 80
	atLimit   = 100
)

const (
	balanceAge  = 5 * time.Second // How long a balance is considered valid, and a changed contract may go unnoticed.
	balanceLook = 4 * time.Second // Age at which it is reloaded in the background, to keep callers from waiting.
	maxBalances = 10_000          // Maximum number of cached organizations. Some 200 bytes each.
)

// Balance is an organization's usage compared with its contract.
type Balance struct {
	Over     bool  // The contract is suspended or has ended.
	Limit    int64 // Tokens per month.
	Used     int64 // This month.
	Notified int   // The highest percentage that administrators were notified of this month; 0 for none.
}

// percent returns the highest percentage that has been reached.
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

// untold reports whether administrators have yet to be notified of a higher percentage.
func (b Balance) untold() bool { return !b.Over && b.percent() > b.Notified }

// BudgetStore is what a Budget needs of a database.
type BudgetStore interface {
	// Balance returns an organization's balance, or ErrNoOrganization. Months are Japan's.
	Balance(ctx context.Context, organizationID uuid.UUID) (Balance, error)

	// PublishLimitNotice adds a notice for an organization's administrators that a percentage of this month's tokens is
	// used, unless any server has notified them of the same or a higher one this month.
	PublishLimitNotice(ctx context.Context, organizationID uuid.UUID, percent int, notice Notification) error
}

// Budget enforces the contracts of organizations. Its balances are at most balanceAge old, and tokens spent on this
// server count at once: several servers together may exceed a limit by what they spend in that time. It is safe for
// concurrent use.
type Budget struct {
	store BudgetStore
	log   *slog.Logger

	root    context.Context // Canceled by Stop.
	cancel  context.CancelFunc
	looking sync.WaitGroup // Goroutines that read balances. Add only with mu held and while not stopped.

	mu       sync.Mutex
	stopped  bool                   // Guarded by mu.
	balances map[uuid.UUID]*balance // Guarded by mu, with the balances that they point to.
}

// balance is the cached balance of an organization. It is guarded by the Budget's mu.
type balance struct {
	Balance
	asOf time.Time     // When reading it began. Zero: never read.
	look chan struct{} // Closed when the read in progress is over; nil for none.
	err  error         // Of the last read.
	late int64         // Tokens spent since the read began, which may not be included.
}

// NewBudget returns a Budget. Stop must be called.
func NewBudget(store BudgetStore, log *slog.Logger) *Budget {
	root, cancel := context.WithCancel(context.Background())
	return &Budget{store: store, log: log, root: root, cancel: cancel, balances: make(map[uuid.UUID]*balance)}
}

// Stop ends the background reads and waits for them.
func (b *Budget) Stop() {
	b.mu.Lock()
	b.stopped = true
	b.mu.Unlock()
	b.cancel()
	b.looking.Wait()
}

// Check returns ErrContractEnded or ErrTokenLimit if an organization may not send new messages. Other errors are the
// database's. It queries the database at most once in balanceLook per organization, however many callers wait for it.
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

// verdict must be called with the Budget's mu held.
func (b *balance) verdict() error {
	switch {
	case b.Over:
		return ErrContractEnded
	case b.Used >= b.Limit:
		return ErrTokenLimit
	}
	return nil
}

// Spent counts tokens that an organization has used, and has its administrators notified in time. It does not block.
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

// get returns the cached balance of an organization. The caller holds mu.
func (b *Budget) get(id uuid.UUID) *balance {
	known := b.balances[id]
	if known == nil {
		if len(b.balances) >= maxBalances {
			clear(b.balances) // Rare, and active organizations are reloaded soon.
		}
		known = &balance{}
		b.balances[id] = known
	}
	return known
}

// begin starts reading an organization's balance, unless a read is in progress or the Budget has stopped, and returns
// the channel that is closed when the read is over. The caller holds mu.
func (b *Budget) begin(id uuid.UUID, known *balance) <-chan struct{} {
	if known.look == nil && !b.stopped {
		known.look, known.late = make(chan struct{}), 0
		b.looking.Go(func() { b.read(id, known) })
	}
	return known.look
}

// read reads a balance and publishes a notice if necessary. It runs in its own goroutine, one per organization.
func (b *Budget) read(id uuid.UUID, known *balance) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(b.root, storeTimeout)
	defer cancel()
	fresh, err := b.store.Balance(ctx, id)
	if percent := fresh.percent(); err == nil && fresh.untold() {
		if told := b.store.PublishLimitNotice(ctx, id, percent, limitNotice(id, percent, fresh)); told != nil {
			b.log.WarnContext(ctx, "publishing a notice about token usage failed, trying again later",
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
	// The balance may include these tokens already. Then they count twice until the next read, by which the notice is
	// decided. Only new tokens cause another read at once: otherwise a notice that keeps failing would cause reads
	// without end.
	if known.Used += known.late; known.late > 0 && known.untold() {
		b.begin(id, known)
	}
}

// limitNotice returns the notice for administrators.
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

// grouped formats a number with a comma between groups of three digits.
func grouped(n int64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
