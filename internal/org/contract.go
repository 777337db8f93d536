package org

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/japan"
)

// ContractStatus is the status of a contract. It determines whether members may work.
type ContractStatus string

// The statuses of a contract. In the last two, and after its last day, new messages are refused.
const (
	ContractActive    ContractStatus = "active"
	ContractTrial     ContractStatus = "trial"
	ContractSuspended ContractStatus = "suspended"
	ContractEnded     ContractStatus = "ended"
)

// Contract limits what an organization may use. Days are Japan's, represented as midnight UTC.
type Contract struct {
	Plan     string // 1 to 50 characters.
	Status   ContractStatus
	Seats    int   // Active members, including invited ones.
	Tokens   int64 // Per month, total of input and output.
	Storage  int64 // Total of all members' files, in bytes.
	StartsOn time.Time
	EndsOn   *time.Time // The last day; nil for no limit.
}

// ContractEdit is an operator's change to a contract. Nil fields are not changed.
type ContractEdit struct {
	Plan     *string
	Status   *ContractStatus
	Seats    *int
	Tokens   *int64
	Storage  *int64
	StartsOn *time.Time
	EndsOn   *time.Time
	Open     bool // Removes the last day. EndsOn must be nil.
}

// Usage counts usage. Messages are answers that have ended in any way.
type Usage struct {
	Messages     int64
	InputTokens  int64
	OutputTokens int64
}

// DayUsage is the usage of an organization on one day.
type DayUsage struct {
	Date time.Time
	Usage
}

// MemberUsage is the usage of one member. UserID is nil for all removed members together.
type MemberUsage struct {
	UserID *uuid.UUID
	Name   string
	Email  string
	Usage
}

// MemberDay is the usage of one member on one day. The name is "" for a removed member.
type MemberDay struct {
	Date  time.Time
	Name  string
	Email string
	Usage
}

// ModelUsage is the usage of one model. ModelID is "" for an unknown model.
type ModelUsage struct {
	ModelID string
	Usage
}

// ModelDay is the usage of one model on one day.
type ModelDay struct {
	Date    time.Time
	ModelID string
	Usage
}

// Period is a range of days, both included, by the calendar of Japan.
type Period struct{ From, To time.Time }

// maxPeriod is the maximum length of a Period in days.
const maxPeriod = 366

// completed sets missing days of the period: To to today, and From so that it is UsageDays long.
func (p Period) completed(now time.Time) (Period, error) {
	if p.To.IsZero() {
		year, month, day := now.In(japan.Zone).Date()
		p.To = time.Date(year, month, day, 0, 0, 0, 0, time.UTC)
	}
	if p.From.IsZero() {
		p.From = p.To.AddDate(0, 0, 1-UsageDays)
	}
	switch days := p.To.Sub(p.From).Hours()/24 + 1; {
	case days < 1:
		return p, fault.InvalidField("to", "開始日以降の日付を指定してください。")
	case days > maxPeriod:
		return p, fault.InvalidField("to", "期間は%d日以内にしてください。", maxPeriod)
	}
	return p, nil
}

// ContractView is a contract with its current usage.
type ContractView struct {
	Contract
	SeatsUsed  int
	TokensUsed int64 // This month.
	// StorageUsed is the size of the members' files, in bytes.
	StorageUsed int64
	ResetsOn    time.Time  // The first day of the next month.
	Usage       []DayUsage // The last UsageDays days, oldest first, without gaps.
}

// OwnUsage is a person's usage this month.
type OwnUsage struct {
	Usage
	ResetsOn   time.Time // The first day of the next month.
	TokenLimit *int64    // Total of input and output; nil for no limit.
}

// UsageDays is the number of days shown, including today.
const UsageDays = 30

// ErrNoSeat means that an organization has as many active members as its contract allows.
var ErrNoSeat = fault.Errorf(fault.NoSeat, "空きシートがありません。ご契約のシート数の上限に達しています。")

// Contract returns the contract of the actor's organization, for its administrators.
func (s *Service) Contract(ctx context.Context, actor identity.Actor) (ContractView, error) {
	if err := administers(actor); err != nil {
		return ContractView{}, err
	}
	return s.store.ContractView(ctx, actor.OrganizationID)
}

// usagePeriod returns the period of a usage for an administrator, with its missing days.
func usagePeriod(actor identity.Actor, period Period) (Period, error) {
	if err := administers(actor); err != nil {
		return Period{}, err
	}
	return period.completed(time.Now())
}

// DailyUsage returns at most limit rows of the usage by day and member, in this order. A period without To ends today,
// and one without From is UsageDays long. For administrators.
func (s *Service) DailyUsage(ctx context.Context, actor identity.Actor, period Period, limit int) ([]MemberDay,
	error,
) {
	period, err := usagePeriod(actor, period)
	if err != nil {
		return nil, err
	}
	return s.store.DailyUsage(ctx, actor.OrganizationID, period, limit)
}

// OwnUsage returns the actor's usage of this month.
func (s *Service) OwnUsage(ctx context.Context, actor identity.Actor) (OwnUsage, error) {
	return s.store.OwnUsage(ctx, actor.OrganizationID, actor.ID)
}

// UsageByModel returns a page of the usage by model in a period, most tokens first, and the number of models with any
// usage. Zero times in the period have the same meaning as for DailyUsage. For administrators.
func (s *Service) UsageByModel(ctx context.Context, actor identity.Actor, period Period, offset, limit int) (
	[]ModelUsage, int, error,
) {
	period, err := usagePeriod(actor, period)
	if err != nil {
		return nil, 0, err
	}
	return s.store.UsageByModel(ctx, actor.OrganizationID, period, offset, limit)
}

// DailyUsageByModel is DailyUsage by day and model. For administrators.
func (s *Service) DailyUsageByModel(ctx context.Context, actor identity.Actor, period Period, limit int) (
	[]ModelDay, error,
) {
	period, err := usagePeriod(actor, period)
	if err != nil {
		return nil, err
	}
	return s.store.DailyUsageByModel(ctx, actor.OrganizationID, period, limit)
}

// UsageByMember returns a page of the members' usage in the last UsageDays days, most tokens first, and the total number
// of rows. Removed members are one row. For administrators.
func (s *Service) UsageByMember(ctx context.Context, actor identity.Actor, offset, limit int) ([]MemberUsage, int,
	error,
) {
	if err := administers(actor); err != nil {
		return nil, 0, err
	}
	return s.store.UsageByMember(ctx, actor.OrganizationID, offset, limit)
}
