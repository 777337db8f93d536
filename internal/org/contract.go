package org

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// ContractStatus says whether a contract lets members work.
type ContractStatus string

// The states of a contract. Under the last two, and after its last day, no new messages are taken.
const (
	ContractActive    ContractStatus = "active"
	ContractTrial     ContractStatus = "trial"
	ContractSuspended ContractStatus = "suspended"
	ContractEnded     ContractStatus = "ended"
)

// Contract is what an organization may use. Days are Japan's, as midnight UTC.
type Contract struct {
	Plan     string // 1 to 50 characters.
	Status   ContractStatus
	Seats    int   // Of active members, invited ones included.
	Tokens   int64 // A month, read and written together.
	Storage  int64 // Of all members' files together, in bytes.
	StartsOn time.Time
	EndsOn   *time.Time // The last day. Nil: open.
}

// ContractEdit is what an operator changes of a contract. Nil leaves what is.
type ContractEdit struct {
	Plan     *string
	Status   *ContractStatus
	Seats    *int
	Tokens   *int64
	Storage  *int64
	StartsOn *time.Time
	EndsOn   *time.Time
	Open     bool // It has no last day any more. EndsOn must be nil.
}

// Usage counts what was used. Messages are answers that ended, however they did.
type Usage struct {
	Messages     int64
	InputTokens  int64
	OutputTokens int64
}

// DayUsage is what an organization used on a day.
type DayUsage struct {
	Date time.Time
	Usage
}

// MemberUsage is what a member used. UserID is nil for all removed ones together.
type MemberUsage struct {
	UserID *uuid.UUID
	Name   string
	Email  string
	Usage
}

// ContractView is a contract with what is used of it.
type ContractView struct {
	Contract
	SeatsUsed  int
	TokensUsed int64 // This month.
	// StorageUsed is what the members' files have, in bytes.
	StorageUsed int64
	ResetsOn    time.Time  // The first day of the next month.
	Usage       []DayUsage // The last UsageDays days, oldest first, each of them.
}

// OwnUsage is what a person used this month.
type OwnUsage struct {
	Usage
	ResetsOn time.Time // The first day of the next month.
}

// UsageDays is how many days usage is shown for, today included.
const UsageDays = 30

// ErrNoSeat says that an organization has as many active members as its contract allows.
var ErrNoSeat = fault.Errorf(fault.NoSeat, "空きシートがありません。ご契約のシート数の上限に達しています。")

// Contract returns the contract of the actor's organization, for its administrators.
func (s *Service) Contract(ctx context.Context, actor identity.Actor) (ContractView, error) {
	if err := administers(actor); err != nil {
		return ContractView{}, err
	}
	return s.reports.ContractView(ctx, actor.OrganizationID)
}

// OwnUsage returns what the actor used this month.
func (s *Service) OwnUsage(ctx context.Context, actor identity.Actor) (OwnUsage, error) {
	return s.reports.OwnUsage(ctx, actor.OrganizationID, actor.ID)
}

// UsageByMember returns a page of what members used in the last UsageDays days, most tokens first, and how many have
// used something. For administrators.
func (s *Service) UsageByMember(ctx context.Context, actor identity.Actor, offset, limit int) ([]MemberUsage, int,
	error,
) {
	if err := administers(actor); err != nil {
		return nil, 0, err
	}
	return s.reports.UsageByMember(ctx, actor.OrganizationID, offset, limit)
}
