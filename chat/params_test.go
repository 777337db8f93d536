package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/test/must"
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
	must.Succeed(t, err)
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

// leavingStore is a database that becomes unreachable while a thread begins: before its earlier messages are stored, or
// before that is acknowledged.
type leavingStore struct {
	chat.Store
	commits, back bool
}

func (s *leavingStore) AddEarlierMessages(
	ctx context.Context, owner identity.Owner, threadID uuid.UUID, messages []chat.EarlierMessage,
) error {
	if s.back || s.commits {
		if err := s.Store.AddEarlierMessages(ctx, owner, threadID, messages); err != nil || s.back {
			return err
		}
	}
	return errFlaky
}

func (s *leavingStore) DeleteThread(ctx context.Context, owner identity.Owner, id uuid.UUID) (chat.DeletedThread, error) {
	if !s.back {
		return chat.DeletedThread{}, errFlaky
	}
	return s.Store.DeleteThread(ctx, owner, id)
}

// TestRepeatedStartHasTheEarlierMessages: a repeated request finds a thread without its earlier messages, or with them,
// and asks the question after them.
func TestRepeatedStartHasTheEarlierMessages(t *testing.T) {
	t.Parallel()
	for name, commits := range map[string]bool{"not stored": false, "stored": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			db, model := &leavingStore{Store: f.db, commits: commits}, llmtest.NewLive()
			s := f.start(model, db, chat.Config{})
			q := chat.Question{
				RequestID: newID(), Content: "糸とは",
				Earlier: []chat.EarlierMessage{{Role: chat.RoleUser, Content: "絹とは"}, {Role: chat.RoleAssistant, Content: "繭の糸です。"}},
			}
			thread := chat.NewThread{SkillID: chatSkill.ID}
			if _, err := s.StartThread(t.Context(), f.owner, thread, q); !errors.Is(err, errFlaky) {
				t.Fatalf("the first request: %v", err)
			}
			db.back = true
			exchange := must.Get(s.StartThread(t.Context(), f.owner, thread, q))(t)
			if m := model.Next(t).Request.Messages; len(m) != 4 || m[1].Content != "絹とは" || m[2].Content != "繭の糸です。" {
				t.Errorf("the conversation is %+v", m[1:])
			}
			all, err := s.ListAllMessages(t.Context(), f.owner, exchange.Answer.ThreadID, 100)
			if err != nil || len(all) != 4 {
				t.Errorf("%d messages, %v", len(all), err)
			}
		})
	}
}
