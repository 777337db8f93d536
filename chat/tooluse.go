package chat

import (
	"crypto/sha256"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

// ToolUse is a call of a tool as it is counted and recorded in the audit log. It does not contain the arguments.
type ToolUse struct {
	Tool, Title     string
	Rule            tool.Rule
	State           ToolState
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
			uses = append(uses, ToolUse{
				Tool: call.Name, Title: call.Title, Rule: call.Rule, State: call.State, Duration: call.Duration,
				ArgumentsSHA256: sha256.Sum256([]byte(call.Arguments)),
			})
		}
	}
	return uses
}

// ToolLimits limits the calls of tools by person and organization. *ratelimit.Limiter implements it.
type ToolLimits interface {
	// CountTool counts a call in an answer to a person, or refuses it. It must not block.
	CountTool(owner identity.Owner) error
}

// noToolLimits sets no limit.
type noToolLimits struct{}

func (noToolLimits) CountTool(identity.Owner) error { return nil }
