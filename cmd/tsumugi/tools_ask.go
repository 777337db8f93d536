//go:build asktools

package main

import (
	"context"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

// askingTools are tools whose calls need decisions as if they had effects. Browser tests use them.
type askingTools struct{ chat.Tools }

func (a askingTools) Of(ctx context.Context, owner identity.Owner, names []string) ([]tool.Tool, error) {
	tools, err := a.Tools.Of(ctx, owner, names)
	for i := range tools {
		tools[i].Rule, tools[i].Effects = tool.RuleAsk, true
	}
	return tools, err
}

// skillTools returns the tools of skills.
func skillTools(tools chat.Tools) chat.Tools { return askingTools{tools} }
