//go:build asktools

package main

import (
	"time"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

// askingTools are the built-in tools, whose calls need decisions as if they had effects. Browser tests use them.
type askingTools struct{ tool.Box }

// Named implements chat.Tools.
func (b askingTools) Named(names []string) []tool.Tool {
	tools := b.Box.Named(names)
	for i := range tools {
		tools[i].Rule, tools[i].Effects = tool.RuleAsk, true
	}
	return tools
}

// builtInTools returns the tools of skills.
func builtInTools() chat.Tools { return askingTools{tool.BuiltIn(time.Now)} }
