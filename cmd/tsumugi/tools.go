//go:build !asktools

package main

import (
	"time"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

// builtInTools returns the tools of skills.
func builtInTools() chat.Tools { return tool.BuiltIn(time.Now) }
