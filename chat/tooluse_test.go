package chat_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestCallsAreCountedAndAudited: at the end of an answer, each call is counted by tool and skill, and is an entry of the
// audit log without its arguments. The same holds if the thread was deleted meanwhile.
func TestCallsAreCountedAndAudited(t *testing.T) {
	t.Parallel()
	for name, deleted := range map[string]bool{"stored": false, "deleted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := storetest.DSN(t)
			db := must.Get(store.Open(t.Context(), dsn))(t)
			t.Cleanup(db.Close)
			f := newFixtureOn(t, db, nil)
			f.giveTools()
			model := llmtest.NewLive()
			s := f.startWith(chat.Deps{Model: model, Tools: newToolbox()}, mute())
			exchange := f.sendTo(s, f.question("調べて"))
			const secret = `{"n": "人事の秘密"}`
			model.Next(t).CallTools(
				calling("a", "echo", secret), calling("b", "echo", `{"n":"失敗"}`), calling("c", "none", `{}`))
			call := model.Next(t)
			w := f.watch(s, exchange.Answer.ID)
			if deleted {
				must.Succeed(t, s.DeleteThread(t.Context(), f.owner, f.thread.ID))
			} else {
				call.Emit("はい")
				call.Finish()
				f.waitAt(s, exchange)
			}
			f.drain(w) // It ends after the calls are counted.

			usage, total, err := db.UsageByTool(t.Context(), f.owner.OrganizationID, org.Period{
				From: time.Now().AddDate(0, 0, -2), To: time.Now().AddDate(0, 0, 2),
			}, 0, 10)
			if err != nil || total != 1 || usage[0].Tool != "echo" || usage[0].Title != "やまびこ" || usage[0].Calls != 2 ||
				usage[0].Failures != 1 || usage[0].SkillID != chatSkill.ID || usage[0].SkillName == "" {
				t.Errorf("usage %+v, %v", usage, err)
			}
			events, total, err := db.ListEvents(t.Context(), org.AuditQuery{
				OrganizationID: &f.owner.OrganizationID, Kind: org.ToolCalls, Limit: 10,
			})
			if err != nil || total != 2 {
				t.Fatalf("%d entries, %v", total, err)
			}
			sum := sha256.Sum256([]byte(secret))
			var outcomes []string
			for _, e := range events {
				details := make(map[string]string)
				for _, c := range e.Details {
					details[c.Field] = c.After
				}
				outcomes = append(outcomes, details["outcome"])
				if e.By.Kind != org.ByMember || *e.By.ID != f.owner.UserID || e.TargetID != "echo" ||
					e.TargetLabel != "やまびこ" || details["rule"] != "allow" || details["duration_ms"] == "" ||
					details["outcome"] == "success" && details["arguments_sha256"] != hex.EncodeToString(sum[:]) {
					t.Errorf("entry %+v", e)
				}
				if text, _ := json.Marshal(e); strings.Contains(string(text), "秘密") {
					t.Errorf("the entry has the arguments: %s", text)
				}
			}
			if slices.Sort(outcomes); !slices.Equal(outcomes, []string{"failed", "success"}) {
				t.Errorf("outcomes %q", outcomes)
			}
			others, _, err := db.ListEvents(t.Context(), org.AuditQuery{
				OrganizationID: &f.owner.OrganizationID, Kind: org.Administration, Limit: 100,
			})
			for _, e := range others {
				if e.Action == org.ActionToolCall {
					t.Errorf("among the actions of administrators, %v: %+v", err, e)
				}
			}
		})
	}
}

// TestDecisionsAreAuditedWithTheirCalls: the audit entry of a call contains the last decision about its approval.
func TestDecisionsAreAuditedWithTheirCalls(t *testing.T) {
	t.Parallel()
	db, err := store.Open(t.Context(), storetest.DSN(t))
	must.Succeed(t, err)
	t.Cleanup(db.Close)
	f := newFixtureOn(t, db, nil)
	f.giveTools()
	model := llmtest.NewLive()
	s := f.startWith(chat.Deps{Model: model, Tools: newAskingTools()}, mute())
	exchange := f.sendTo(s, f.question("送って"))
	model.Next(t).CallTools(calling("a", "send", `{}`), calling("b", "slow", `{}`), calling("c", "look", `{}`))
	for _, waiting := range f.waits(s, 2) {
		if waiting.Tool == "send" {
			f.decide(s, approve(waiting))
		} else {
			f.decide(s, refuse(waiting, ""))
		}
	}
	model.Next(t).CallTools(calling("d", "send", `{}`))
	f.waits(s, 1)
	must.Succeed(t, s.StopMessage(t.Context(), f.owner, exchange.Answer.ID))
	f.waitAt(s, exchange)
	events, _, err := db.ListEvents(t.Context(), org.AuditQuery{
		OrganizationID: &f.owner.OrganizationID, Kind: org.ToolCalls, Limit: 10,
	})
	must.Succeed(t, err)
	var got []string
	for _, e := range events {
		details := make(map[string]string)
		for _, c := range e.Details {
			details[c.Field] = c.After
		}
		got = append(got, strings.TrimSpace(fmt.Sprint(e.TargetID, " ", details["outcome"], " ", details["decision"])))
	}
	if slices.Sort(got); !slices.Equal(got, []string{
		"look success", "send failed canceled", "send success approved", "slow denied denied",
	}) {
		t.Errorf("entries %q", got)
	}
}

// fewCalls allows a number of calls.
type fewCalls struct{ left atomic.Int64 }

func (l *fewCalls) CountTool(identity.Owner, string) error {
	if l.left.Add(-1) < 0 {
		return fault.Errorf(fault.RateLimited, "回数が多すぎます。")
	}
	return nil
}

// TestCallsBeyondTheLimitFail: a call beyond the limit of the person is not made, and the answer continues.
func TestCallsBeyondTheLimitFail(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.giveTools()
	model, box, limit := llmtest.NewLive(), newToolbox(), new(fewCalls)
	limit.left.Store(2)
	s := f.startWith(chat.Deps{Model: model, Tools: box, CountTool: limit.CountTool}, chat.Config{})
	exchange := f.sendTo(s, f.question("調べて"))
	model.Next(t).CallTools(calling("a", "echo", "{}"), calling("b", "echo", "{}"), calling("c", "echo", "{}"))
	call := model.Next(t)
	if got := results(call.Request); len(got) != 3 || got[2] != "c:エラー: 回数が多すぎます。" {
		t.Errorf("results %q", got)
	}
	call.Emit("はい")
	call.Finish()
	if answer := f.waitAt(s, exchange).Answer; len(box.called) != 2 || answer.Status != chat.StatusSuccess {
		t.Errorf("%d calls, %s", len(box.called), fmt.Sprint(answer.Failure))
	}
}
