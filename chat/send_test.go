package chat_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// skillOf returns the built-in skill of a kind.
func skillOf(t *testing.T, kind skill.Kind) skill.Skill {
	t.Helper()
	_, skills, err := skill.Builtin()
	i := slices.IndexFunc(skills, func(s skill.Skill) bool { return s.Kind == kind })
	if err != nil || i < 0 {
		t.Fatal("no such skill", err)
	}
	return skills[i]
}

// TestRefusedQuestionAsksNoModel: a refused question is not sent to the model, and a repeated request finds its answer.
func TestRefusedQuestionAsksNoModel(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	asked, release := make(chan string, 10), make(chan struct{})
	f.server = f.start(llmtest.Func(func(ctx context.Context, req llm.Request, emit func(string)) (llm.Result, error) {
		asked <- req.Messages[len(req.Messages)-1].Content
		<-release
		return llmtest.Say("答え")(ctx, req, emit)
	}), f.db, chat.Config{})
	q := f.question("一つ目")
	first := f.send(q)
	if again := f.send(q); again.Answer.ID != first.Answer.ID {
		t.Errorf("asked again, got %s, want %s", again.Answer.ID, first.Answer.ID)
	}
	if _, err := f.server.Send(t.Context(), f.owner, f.question("二つ目")); !errors.Is(err, chat.ErrThreadBusy) {
		t.Errorf("got %v", err)
	}
	web := skillOf(t, skill.KindWebSearch)
	other := f.question("ウェブで調べて")
	other.ThreadID = f.newThread(web).ID
	if _, err := f.server.Send(t.Context(), f.owner, other); fault.CodeOf(err) != fault.SkillUnavailable {
		t.Errorf("got %v", err)
	}
	list, err := f.server.ListMessages(t.Context(), f.owner, other.ThreadID, nil, 0, 10)
	if err != nil || len(list) != 0 || len(f.messages()) != 2 {
		t.Errorf("stored %d, %v, and %d", len(list), err, len(f.messages()))
	}
	close(release)
	f.server.Stop(context.WithoutCancel(t.Context())) // Waits for all started work.
	close(asked)
	for content := range asked {
		if !strings.Contains(content, "一つ目") { // The question, or the request for its thread's title.
			t.Errorf("the model was asked %q", content)
		}
	}
}
