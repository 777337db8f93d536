//go:build !asktools

package main

import "github.com/tsumugi-ai/tsumugi/chat"

// skillTools returns the tools of skills.
func skillTools(tools chat.Tools) chat.Tools { return tools }
