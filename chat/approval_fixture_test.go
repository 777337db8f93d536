package chat_test

import (
	"context"
	"encoding/json"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

// askingTools has the tool "send", which asks and changes something, "allowed", which changes something, and "page",
// whose results are untrusted. It counts the calls.
type askingTools struct {
	version string

	mu    sync.Mutex
	calls []string // Guarded by mu. The tool and the arguments.

	began chan string   // Receives the name of each tool that is called.
	leave chan struct{} // Calls of "slow" return when it is closed.
}

func newAskingTools() *askingTools {
	return &askingTools{began: make(chan string, 100), leave: make(chan struct{})}
}

// newAskingFixture returns a fixture whose skill has tools, the tools, and a model.
func newAskingFixture(t *testing.T) (*fixture, *askingTools, *llmtest.Live) {
	t.Helper()
	f := newFixture(t, nil)
	f.giveTools()
	return f, newAskingTools(), llmtest.NewLive()
}

func (b *askingTools) Of(context.Context, identity.Owner, []string) ([]tool.Tool, error) {
	named := func(name string, rule tool.Rule, effects, untrusted bool) tool.Tool {
		return tool.Tool{
			Name: name, Title: "題" + name, Rule: rule, Effects: effects, Version: b.version,
			Check: func(arguments json.RawMessage) error {
				if strings.Contains(string(arguments), "不正") {
					return fault.Errorf(fault.Invalid, "引数が合いません。")
				}
				return nil
			},
			Call: func(ctx context.Context, arguments json.RawMessage) (tool.Result, error) {
				b.mu.Lock()
				b.calls = append(b.calls, name+string(arguments))
				b.mu.Unlock()
				b.began <- name
				if name == "slow" {
					select {
					case <-b.leave:
					case <-ctx.Done():
						return tool.Result{}, ctx.Err()
					}
				}
				return tool.Result{Text: "結果" + string(arguments), Untrusted: untrusted}, nil
			},
		}
	}
	return []tool.Tool{
		named("send", tool.RuleAsk, true, false), named("allowed", tool.RuleAllow, true, false),
		named("page", tool.RuleAllow, false, true), named("slow", tool.RuleAsk, true, false),
		named("look", tool.RuleAllow, false, false),
	}, nil
}

func (b *askingTools) made() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

// waits returns the calls that wait for a decision of the owner, when there are n of them.
func (f *fixture) waits(s *server, n int) (list []chat.ToolApproval) {
	f.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		f.patiently(func() (err error) {
			list, err = s.ListToolApprovals(f.t.Context(), f.owner, 0, 100)
			return err
		})
		if len(list) == n {
			return list
		}
	}
	f.t.Fatalf("%d calls wait, not %d", len(list), n)
	return nil
}

// parked waits until an answer waits for a decision on no server.
func (f *fixture) parked(exchange chat.Exchange) {
	f.t.Helper()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); {
		message, err := f.server.FindMessage(f.t.Context(), f.owner, exchange.Answer.ID)
		if err == nil && message.AwaitsApproval {
			if message.Status != chat.StatusRunning {
				f.t.Errorf("waits with status %s", message.Status)
			}
			return
		}
	}
	f.t.Fatal("the answer does not wait")
}

// idle waits until no generation occupies a slot of a server.
func (f *fixture) idle(s *server) {
	f.t.Helper()
	for end := time.Now().Add(time.Minute); s.Stats().Running != 0; {
		if time.Now().After(end) {
			f.t.Fatal("a generation occupies a slot")
		}
		runtime.Gosched()
	}
}

func approve(a chat.ToolApproval) chat.Decision {
	return chat.Decision{ID: a.ID, RequestID: newID(), Approved: true, ArgumentsSHA256: a.ArgumentsSHA256}
}

func refuse(a chat.ToolApproval, reason string) chat.Decision {
	d := approve(a)
	d.Approved, d.Reason = false, reason
	return d
}

// decide stores a decision, as the person does in a browser at a server.
func (f *fixture) decide(s *server, d chat.Decision) (decided chat.ToolApproval) {
	f.t.Helper()
	f.patiently(func() (err error) {
		decided, err = s.DecideToolCall(f.t.Context(), f.actor(), d)
		return err
	})
	return decided
}

func (f *fixture) actor() identity.Actor { return actorOf(f.owner) }

func actorOf(owner identity.Owner) identity.Actor {
	return identity.Actor{User: identity.User{OrganizationID: owner.OrganizationID, ID: owner.UserID}}
}
