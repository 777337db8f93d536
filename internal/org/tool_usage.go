package org

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
)

// ToolUsage is the usage of one tool in answers of one skill.
type ToolUsage struct {
	Tool       string
	Title      string // The tool's name for people.
	SkillID    uuid.UUID
	SkillName  string // "" for a deleted skill.
	Calls      int64
	Failures   int64
	DurationMS int64 // Of all calls.
}

// ToolDay is the usage of one tool in answers of one skill on one day.
type ToolDay struct {
	Date time.Time
	ToolUsage
}

// UsageByTool returns a page of the usage by tool and skill in a period, most calls first, and the number of rows. Zero
// times in the period have the same meaning as for DailyUsage. For administrators.
func (s *Service) UsageByTool(ctx context.Context, actor identity.Actor, period Period, offset, limit int) (
	[]ToolUsage, int, error,
) {
	period, err := usagePeriod(actor, period)
	if err != nil {
		return nil, 0, err
	}
	return s.store.UsageByTool(ctx, actor.OrganizationID, period, offset, limit)
}

// DailyUsageByTool is DailyUsage by day, tool and skill. For administrators.
func (s *Service) DailyUsageByTool(ctx context.Context, actor identity.Actor, period Period, limit int) (
	[]ToolDay, error,
) {
	period, err := usagePeriod(actor, period)
	if err != nil {
		return nil, err
	}
	return s.store.DailyUsageByTool(ctx, actor.OrganizationID, period, limit)
}
