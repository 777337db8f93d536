package org

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/timeout"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
)

// The errors of a Budget.
var (
	ErrTokenLimit = fault.Errorf(fault.TokenLimit,
		"今月のトークン数の上限に達したため、新しいメッセージを送信できません。管理者にお問い合わせください。")
	ErrContractEnded = fault.Errorf(fault.ContractEnded,
		"ご契約が終了しているため、新しいメッセージを送信できません。管理者にお問い合わせください。")
)

// Percentages of the monthly tokens at which a notice is published: an organization's percentages to its
// administrators, and a member's to the member.
const (
	nearLimit = 80
	atLimit   = 100
)

const (
	balanceAge     = 5 * time.Second // Maximum age of a balance, and the delay until a changed contract takes effect.
	balanceRefresh = 4 * time.Second // Age at which a balance is reloaded in the background, so that callers do not wait.
	maxBalances    = 50_000          // Maximum number of cached organizations and members, about 250 bytes each.
)

// Balance is the usage of an organization compared with its contract, or of a member compared with their limit.
type Balance struct {
	Over      bool      // The organization's contract is suspended or has ended.
	Unlimited bool      // The member has no limit.
	Limit     int64     // Tokens per month.
	Used      int64     // This month.
	Notified  int       // The highest percentage with a published notice this month, or 0.
	ResetsOn  time.Time // The first day of the next month.

	MemberLimits bool // Whether members of the organization may have limits.
}

// percent returns the highest percentage that has been reached.
func (b Balance) percent() int {
	switch {
	case b.Unlimited:
		return 0
	case b.Used >= b.Limit:
		return atLimit
	case b.Used >= b.Limit-b.Limit/5:
		return nearLimit
	default:
		return 0
	}
}

// noticeDue reports whether a notice about a higher percentage must be published.
func (b Balance) noticeDue() bool { return !b.Over && b.percent() > b.Notified }

// account identifies the owner of a balance: a member, or the organization if the user is uuid.Nil.
type account struct{ organizationID, userID uuid.UUID }

// Budget enforces the contracts of organizations and the limits of their members. Its balances are at most balanceAge
// old, and tokens spent on this server count at once. Several servers together may exceed a limit by the tokens spent
// in that time. It is safe for concurrent use.
type Budget struct {
	store Store
	log   *slog.Logger

	root      context.Context // Canceled by Stop.
	cancel    context.CancelFunc
	refreshes sync.WaitGroup // Goroutines that read balances. Add only with mu held and before the Budget is stopped.

	mu       sync.Mutex
	stopped  bool                 // Guarded by mu.
	balances map[account]*balance // Guarded by mu, like the balances themselves.
}

// balance is a cached balance. It is guarded by the Budget's mu.
type balance struct {
	Balance
	asOf    time.Time     // Time when reading it began; zero if it was never read.
	refresh chan struct{} // Closed when the read in progress ends; nil without one.
	err     error         // The error of the last read.
	late    int64         // Tokens spent since the read began, which may not be included.
}

// NewBudget returns a Budget. The caller must call Stop.
func NewBudget(store Store, log *slog.Logger) *Budget {
	root, cancel := context.WithCancel(context.Background())
	return &Budget{store: store, log: log, root: root, cancel: cancel, balances: make(map[account]*balance)}
}

// Stop ends the background reads and waits for them.
func (b *Budget) Stop() {
	b.mu.Lock()
	b.stopped = true
	b.mu.Unlock()
	b.cancel()
	b.refreshes.Wait()
}

// Check returns ErrContractEnded or ErrTokenLimit if an organization may not send new messages, and an error with the
// code fault.MemberLimit if its member may not. Other errors are the database's. It queries the database at most once
// in balanceRefresh per organization and member, for any number of waiting callers. It does not query members of an
// organization without limits for members.
func (b *Budget) Check(ctx context.Context, organizationID, userID uuid.UUID) error {
	whole, err := b.current(ctx, account{organizationID: organizationID})
	switch {
	case err != nil:
		return err
	case whole.Over:
		return ErrContractEnded
	case whole.Used >= whole.Limit:
		return ErrTokenLimit
	case !whole.MemberLimits:
		return nil
	}
	own, err := b.current(ctx, account{organizationID, userID})
	if err == nil && own.percent() >= atLimit {
		err = errMemberLimit(own)
	}
	return err
}

// errMemberLimit returns the error of a member who has used up their monthly tokens.
func errMemberLimit(own Balance) error {
	return fault.Errorf(fault.MemberLimit,
		"今月ご利用いただけるトークン数の上限（%sトークン）に達したため、新しい質問を受け付けられません。上限は%sにリセットされます。"+
			"お急ぎの場合は、組織の管理者に上限の変更をご相談ください。", grouped(own.Limit), own.ResetsOn.Format("1月2日"))
}

// current returns a balance that is at most balanceAge old.
func (b *Budget) current(ctx context.Context, of account) (Balance, error) {
	b.mu.Lock()
	known := b.get(of)
	var look <-chan struct{}
	age := time.Since(known.asOf)
	if age >= balanceRefresh {
		look = b.begin(of, known)
	}
	if age < balanceAge {
		defer b.mu.Unlock()
		return known.Balance, nil
	}
	b.mu.Unlock()
	select {
	case <-b.root.Done():
		return Balance{}, fault.Errorf(fault.Unavailable, "サーバーを再起動しています。少し時間をおいて、もう一度お試しください。")
	case <-look:
	case <-ctx.Done():
		return Balance{}, fault.Wrap(ctx.Err(), fault.Unavailable, "ただいま混み合っています。少し時間をおいて、もう一度お試しください。")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return known.Balance, known.err
}

// RecordUsage counts tokens used by a member of an organization, and publishes due notices in the background. It does
// not block.
func (b *Budget) RecordUsage(organizationID, userID uuid.UUID, tokens int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	whole := b.add(account{organizationID: organizationID}, tokens)
	if whole.MemberLimits || whole.asOf.IsZero() {
		b.add(account{organizationID, userID}, tokens)
	}
}

// add counts tokens. The caller holds mu.
func (b *Budget) add(of account, tokens int) *balance {
	known := b.get(of)
	known.Used += int64(max(tokens, 0))
	known.late += int64(max(tokens, 0))
	if time.Since(known.asOf) >= balanceAge || known.noticeDue() {
		b.begin(of, known)
	}
	return known
}

// get returns a cached balance. The caller holds mu.
func (b *Budget) get(of account) *balance {
	known := b.balances[of]
	if known == nil {
		if len(b.balances) >= maxBalances {
			clear(b.balances) // Rare; balances in use are soon reloaded.
		}
		known = &balance{}
		b.balances[of] = known
	}
	return known
}

// begin starts reading a balance, unless a read is in progress or the Budget has stopped, and returns a channel that is
// closed when the read ends. The caller holds mu.
func (b *Budget) begin(of account, known *balance) <-chan struct{} {
	if known.refresh == nil && !b.stopped {
		known.refresh, known.late = make(chan struct{}), 0
		b.refreshes.Go(func() { b.read(of, known) })
	}
	return known.refresh
}

// read reads a balance and publishes a notice if necessary. It runs in its own goroutine, one per balance.
func (b *Budget) read(of account, known *balance) {
	began := time.Now()
	ctx, cancel := context.WithTimeout(b.root, timeout.Store)
	defer cancel()
	fresh, err := b.load(ctx, of)
	if percent := fresh.percent(); err == nil && fresh.noticeDue() {
		if told := b.publish(ctx, of, percent, fresh); told != nil {
			b.log.WarnContext(ctx, "org: publishing a notice about token usage failed, retrying",
				"organization_id", of.organizationID, "user_id", of.userID, "err", told)
		} else {
			fresh.Notified = percent
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	close(known.refresh)
	known.refresh, known.err = nil, err
	if err != nil {
		return
	}
	known.Balance, known.asOf = fresh, began
	// The balance may already include these tokens. They then count twice until the next read, which decides about the
	// notice. Only new tokens cause another read at once. Otherwise a notice that keeps failing would cause endless
	// reads.
	if known.Used += known.late; known.late > 0 && known.noticeDue() {
		b.begin(of, known)
	}
}

func (b *Budget) load(ctx context.Context, of account) (Balance, error) {
	if of.userID == uuid.Nil {
		return b.store.Balance(ctx, of.organizationID)
	}
	return b.store.MemberBalance(ctx, of.organizationID, of.userID)
}

func (b *Budget) publish(ctx context.Context, of account, percent int, fresh Balance) error {
	if of.userID == uuid.Nil {
		return b.store.PublishLimitNotice(ctx, of.organizationID, percent, limitNotice(of.organizationID, percent, fresh))
	}
	return b.store.PublishMemberNotice(ctx, percent, memberNotice(of, percent, fresh))
}

// memberNotice returns the notice for a member.
func memberNotice(of account, percent int, b Balance) Notification {
	resets := b.ResetsOn.Format("1月2日")
	n := Notification{
		ID: uuidv7.New(), OrganizationID: &of.organizationID, UserID: &of.userID, Level: LevelWarning,
		Title: fmt.Sprintf("今月のトークン数が、ご利用の上限の%d%%に達しました", percent),
		Body: fmt.Sprintf("今月は%s / %sトークンを利用しています。上限に達すると、%sにリセットされるまで新しい質問ができなくなります。",
			grouped(b.Used), grouped(b.Limit), resets),
	}
	if percent >= atLimit {
		n.Title = "今月のトークン数が、ご利用の上限に達しました"
		n.Body = fmt.Sprintf("上限（%sトークン）に達したため、新しい質問はできません。上限は%sにリセットされます。"+
			"お急ぎの場合は、組織の管理者に上限の変更をご相談ください。", grouped(b.Limit), resets)
	}
	return n
}

// limitNotice returns the notice for administrators.
func limitNotice(organizationID uuid.UUID, percent int, b Balance) Notification {
	n := Notification{
		ID: uuidv7.New(), OrganizationID: &organizationID, Audience: AudienceAdmins, Level: LevelWarning,
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
