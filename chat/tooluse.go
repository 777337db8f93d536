package chat

import (
	"crypto/sha256"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

// ToolUse is a call of a tool as it is counted and recorded in the audit log. It does not contain the arguments.
type ToolUse struct {
	Tool, Title     string
	Rule            tool.Rule
	State           ToolState
	Decision        ApprovalState // The last one by the person; "" if none was needed.
	Duration        time.Duration
	ArgumentsSHA256 [sha256.Size]byte
}

// toolUses returns the calls of the answer. Calls of tools that do not exist are not included.
func (g *generation) toolUses() []ToolUse {
	var uses []ToolUse
	for _, round := range g.rounds {
		for _, call := range round.Calls {
			if call.Rule == "" {
				continue
			}
			use := ToolUse{
				Tool: call.Name, Title: call.Title, Rule: call.Rule, State: call.State, Duration: call.Duration,
				ArgumentsSHA256: sha256.Sum256([]byte(call.Arguments)),
			}
			if call.Approval != nil {
				use.Decision = call.Approval.State
			}
			uses = append(uses, use)
		}
	}
	return uses
}
