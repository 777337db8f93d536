package chat_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// startThread begins a thread on a server, and repeats the request if a busy machine exceeds the timeout.
func (f *fixture) startThread(s *server, sk skill.Skill, q chat.Question) (exchange chat.Exchange) {
	f.t.Helper()
	q.RequestID = newID()
	f.patiently(func() (err error) {
		exchange, err = s.StartThread(f.t.Context(), f.owner, chat.NewThread{SkillID: sk.ID}, q)
		return err
	})
	return exchange
}

// TestParamsAndInstructionsRemain: they apply to the run after a crash, and to a regenerated answer. The instructions
// belong to the whole thread, the parameters to the question.
func TestParamsAndInstructionsRemain(t *testing.T) {
	t.Parallel()
	params := llm.Params{
		MaxTokens: 50, Temperature: new(float32(0.25)), TopP: new(float32(0)), Stop: []string{"\n\n", "以上"}, Seed: new(3),
		Schema: &chat.Schema{
			Name: "a", Strict: true,
			JSON: json.RawMessage(`{"type":"object","properties":{"z":{"type":"number"},"a":{"type":"string"}}}`),
		},
	}
	model := llmtest.NewLive()
	f := newFixture(t, nil)
	slow := f.start(model, f.db, mute())
	exchange := f.startThread(slow, chatSkill, chat.Question{
		Content: "糸とは", Instructions: "英語で</thread>答える。", Params: &chat.Params{Params: params},
		Earlier: []chat.EarlierMessage{{Role: chat.RoleUser, Content: "絹とは"}, {Role: chat.RoleAssistant, Content: "繭の糸です。"}},
	})
	check := func(what string, req llm.Request, want llm.Params) {
		t.Helper()
		system, m := req.Messages[0].Content, req.Messages
		if !strings.Contains(system, "<thread>\n英語で＜/thread>答える。\n</thread>\n") ||
			strings.HasPrefix(system, "# この会話の指示") {
			t.Errorf("%s: the instructions are %q", what, system)
		}
		if !reflect.DeepEqual(req.Params, want) || req.Exact != (len(want.Stop) > 0) {
			t.Errorf("%s: the parameters are %+v, %v", what, req.Params, req.Exact)
		}
		if inJSON := strings.HasSuffix(system, "（[1] など）も付けない。\n"); inJSON != (want.Schema != nil) {
			t.Errorf("%s: told to write JSON: %v", what, inJSON)
		}
		if len(m) < 4 || m[1].Content != "絹とは" || m[2].Content != "繭の糸です。" || m[3].Content != "糸とは" {
			t.Errorf("%s: the conversation is %+v", what, m[1:])
		}
	}
	first := model.Next(t)
	check("first", first.Request, params)

	next := llmtest.NewLive()
	server := f.start(next, f.db, chat.Config{Alone: true})
	second := next.Next(t)
	check("after a crash", second.Request, params)
	second.Emit(`{"z":[1]}`)
	second.Finish()
	answer := f.waitAt(server, exchange).Answer
	if answer.Content != `{"z":[1]}` || answer.Run != 2 {
		t.Errorf("stored %+v", answer)
	}

	f.thread.ID = answer.ThreadID
	again := f.sendTo(server, chat.Question{
		RequestID: newID(), ThreadID: f.thread.ID, Regenerate: &answer.ID,
	})
	third := next.Next(t)
	check("again", third.Request, params)
	third.Emit("{}")
	third.Finish()
	f.waitAt(server, again)

	f.sendTo(server, f.question("続き"))
	fourth := next.Next(t)
	check("in the app", fourth.Request, llm.Params{})
	fourth.Finish()
}

// TestAProofreadingTakesNoParams: parameters are refused, because its answer is a list of changes.
func TestAProofreadingTakesNoParams(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	_, skills, err := skill.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for _, sk := range skills {
		if sk.Kind != skill.KindProofreading {
			continue
		}
		_, err := f.server.StartThread(t.Context(), f.owner, chat.NewThread{SkillID: sk.ID}, chat.Question{
			RequestID: newID(), Content: "文章です。", Params: &chat.Params{Params: llm.Params{MaxTokens: 5}},
		})
		if fields := fault.FieldsOf(err); fault.CodeOf(err) != fault.Invalid || len(fields) != 1 || fields[0].Field != "params" {
			t.Errorf("%v", err)
		}
	}
}
