package chat_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// suggester is a model that answers every question with the same text, and requests for suggestions with text, or with
// an error if it is "".
type suggester struct {
	text  string
	calls atomic.Int32 // Requests for suggestions.
	last  llm.Request
}

func (m *suggester) Stream(ctx context.Context, req llm.Request, emit func(string)) (llm.Result, error) {
	if !llmtest.IsSuggestion(req.Messages) {
		return llmtest.Say("絹は繭から作られます。")(ctx, req, emit)
	}
	m.calls.Add(1)
	m.last = req
	usage := llm.Usage{InputTokens: 900, OutputTokens: 30}
	if m.text == "" {
		return llm.Result{Usage: usage}, fault.Errorf(llm.CodeInterrupted, "途切れました。")
	}
	emit(m.text)
	return llm.Result{Model: llmtest.ModelName, FinishReason: llm.FinishStop, Usage: usage}, nil
}

// suggesting returns a fixture whose server suggests questions, and the id of an answer.
func suggesting(t *testing.T, text string, deps chat.Deps) (*fixture, *suggester, chat.Message) {
	t.Helper()
	model := &suggester{text: text}
	f := newFixture(t, nil)
	f.named()
	deps.Model = model
	f.server = f.startWith(deps, chat.Config{Suggestions: true})
	return f, model, f.wait(f.send(f.question("絹の作り方を教えて"))).Answer
}

// TestSuggestionsAreGeneratedOnce: suggestions are stored with the answer, and their tokens are counted. Later calls and
// pages need no model.
func TestSuggestionsAreGeneratedOnce(t *testing.T) {
	t.Parallel()
	budget := &ledger{}
	f, model, answer := suggesting(t, "繭はどのように育てますか\n絹の手入れの方法は", chat.Deps{Budget: budget})
	before, spent := f.usage(), budget.total()
	want := []string{"繭はどのように育てますか", "絹の手入れの方法は"}
	for range 2 {
		got, err := f.server.Suggest(t.Context(), f.owner, answer.ID)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("suggested %q, %v", got, err)
		}
	}
	if n := model.calls.Load(); n != 1 {
		t.Errorf("the model was asked %d times", n)
	}
	if prompt := model.last.Messages[1].Content; !strings.Contains(prompt, "<question>\n絹の作り方を教えて\n</question>") ||
		!strings.Contains(prompt, "<answer>\n絹は繭から作られます。\n</answer>") {
		t.Errorf("the prompt is %q", prompt)
	}
	if got := f.messages()[0].Suggestions; !slices.Equal(got, want) {
		t.Errorf("the thread has the suggestions %q", got)
	}
	after := f.usage()
	if after.InputTokens-before.InputTokens != 900 || after.OutputTokens-before.OutputTokens != 30 ||
		after.Messages != before.Messages || budget.total()-spent != 930 {
		t.Errorf("counted %+v after %+v, and %d tokens in the budget", after, before, budget.total()-spent)
	}
	if _, err := f.server.Suggest(t.Context(), f.colleague(f.owner.OrganizationID), answer.ID); !errors.Is(err, chat.ErrNoMessage) {
		t.Errorf("a colleague receives %v", err)
	}
}

// TestSuggestionsOfTheModel: the model's answer is reduced to two or three short lines, or to nothing.
func TestSuggestionsOfTheModel(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.named()
	long := strings.Repeat("長", 61)
	for said, want := range map[string][]string{
		"1. 一つ目ですか？\n2．**二つ目**ですか。\n（３）三つ目は？\n四つ目は？":          {"一つ目ですか？", "二つ目ですか", "三つ目は？"},
		"次に尋ねそうな質問：\n- 「一つ目」\n\n- 「二つ目」\n":                    {"一つ目", "二つ目"},
		"一つ目\n" + long + "\n[二つ目](https://evil.example)\n一つ目": {"一つ目", "二つ目"},
		"一つ目\u202e\x00\n二つ目\x1b[31m":                          {"一つ目", "二つ目[31m"},
		"糸とは\n一つ目":                                            nil, // The question itself.
		"一つだけ":                                                nil,
		long + "\n" + long:                                    nil,
		"":                                                    nil, // The model fails.
	} {
		model := &suggester{text: said}
		f.server = f.startWith(chat.Deps{Model: model}, chat.Config{Suggestions: true})
		answer := f.wait(f.send(f.question("糸とは"))).Answer
		for range 2 {
			got, err := f.server.Suggest(t.Context(), f.owner, answer.ID)
			if err != nil || !slices.Equal(got, want) || model.calls.Load() != 1 {
				t.Errorf("%q: %q, %v, after %d calls", said, got, err, model.calls.Load())
			}
		}
	}
}

// TestNothingIsSuggested: without a request to the model.
func TestNothingIsSuggested(t *testing.T) {
	t.Parallel()
	budget := &ledger{}
	f, model, answer := suggesting(t, "一つ目\n二つ目", chat.Deps{Budget: budget})
	suggest := func(what string, s *server, m chat.Message) {
		t.Helper()
		got, err := s.Suggest(t.Context(), f.owner, m.ID)
		if err != nil || len(got) > 0 || model.calls.Load() > 0 {
			t.Errorf("%s: %q, %v, after %d calls", what, got, err, model.calls.Load())
		}
	}
	priced := llmtest.Offers{{ID: "standard", Name: "標準", Price: &llm.Price{Output: 10, Currency: "JPY"}}}
	s := f.startWith(chat.Deps{Model: model, Offers: priced}, chat.Config{Suggestions: true})
	suggest("a model with a price", s, f.waitAt(s, f.sendTo(s, f.question("糸とは"))).Answer)
	suggest("the offline engine", f.start(model, f.db, chat.Config{}), answer)
	suggest("a question", f.server, f.messages()[1])

	budget.refuse = org.ErrTokenLimit
	if _, err := f.server.Suggest(t.Context(), f.owner, answer.ID); !errors.Is(err, org.ErrTokenLimit) {
		t.Errorf("without tokens: %v", err)
	}
	budget.refuse = nil

	temporary := must.Get(f.server.CreateThread(t.Context(), f.owner, chat.NewThread{
		SkillID: chatSkill.ID, Lifetime: time.Hour,
	}))(t)
	suggest("a temporary thread", f.server, f.wait(f.send(chat.Question{
		RequestID: newID(), ThreadID: temporary.ID, Content: "糸とは",
	})).Answer)
	suggest("JSON", f.server, f.wait(f.startThread(f.server, chatSkill, chat.Question{
		Content: "糸とは", Params: &chat.Params{Params: llm.Params{Schema: &chat.Schema{}}},
	})).Answer)

	failing := f.start(llmtest.Fail(fault.Errorf(llm.CodeInterrupted, "途切れました。"), "絹"), f.db, chat.Config{Suggestions: true})
	suggest("a failed answer", f.server, f.waitAt(failing, f.sendTo(failing, f.question("糸とは"))).Answer)
	f.thread = f.newThread(proofreader(t))
	f.named()
	checker := f.start(llmtest.Say(proposals("絹", "糸")), f.db, chat.Config{Suggestions: true})
	suggest("a proofreading", f.server, f.waitAt(checker, f.sendTo(checker, f.form("絹です。"))).Answer)
}
