package chat_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// looking is a store that counts how often a thread is read for a question.
type looking struct {
	chat.Store
	looks atomic.Int32
}

func (c *looking) Look(
	ctx context.Context, owner chat.Owner, threadID, requestID uuid.UUID, hash [32]byte, limit chat.Limit,
) (chat.Looked, error) {
	c.looks.Add(1)
	return c.Store.Look(ctx, owner, threadID, requestID, hash, limit)
}

// echo is a model that repeats the conversation it is given.
func echo(ctx context.Context, req llm.Request, emit func(string)) (llm.Result, error) {
	var all []string
	for _, m := range req.Messages {
		all = append(all, m.Content)
	}
	return llmtest.Say(strings.Join(all, "|"))(ctx, req, emit)
}

// TestFirstQuestionNeedsNoLook: a new thread is known, and what was asked in it since is read.
func TestFirstQuestionNeedsNoLook(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	store := &looking{Store: f.db}
	f.server = f.start(llmtest.Func(echo), store, chat.Config{})
	f.thread = f.newThread(chatSkill)
	q := f.question("一つ目")
	first := f.wait(f.send(q))
	if n := store.looks.Load(); n != 0 || !strings.HasSuffix(first.Answer.Content, "一つ目") || !strings.Contains(first.Answer.Content, chatSkill.Prompt) {
		t.Errorf("read %d times, then answered %q", n, first.Answer.Content)
	}
	if again := f.send(q); again.Answer.ID != first.Answer.ID || store.looks.Load() != 1 {
		t.Errorf("the same request: %s, read %d times; want %s", again.Answer.ID, store.looks.Load(), first.Answer.ID)
	}
	second := f.wait(f.send(f.question("二つ目")))
	if !strings.Contains(second.Answer.Content, "一つ目|") || !strings.HasSuffix(second.Answer.Content, "二つ目") || store.looks.Load() != 2 {
		t.Errorf("read %d times, then answered %q", store.looks.Load(), second.Answer.Content)
	}
}

// TestFirstQuestionOfAChangedSkill: what is remembered of a thread is never what an answer rests on once it has changed.
func TestFirstQuestionOfAChangedSkill(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Func(echo))
	f.thread = f.newThread(chatSkill)
	categories, skills, err := skill.Builtin()
	if err != nil {
		t.Fatal(err)
	}
	for i := range skills {
		skills[i].Prompt += "語尾は「でござる」にしてください。"
	}
	if err := f.db.SaveBuiltinSkills(t.Context(), categories, skills); err != nil {
		t.Fatal(err)
	}
	got := f.wait(f.send(f.question("変わりましたか")))
	if !strings.Contains(got.Answer.Content, "でござる") || len(f.messages()) != 2 {
		t.Errorf("%d messages, the last one %q", len(f.messages()), got.Answer.Content)
	}
}

// TestR31_FirstQuestionTakesOnePlace: what was asked in vain counts no more when the question goes the usual way.
func TestR31_FirstQuestionTakesOnePlace(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	release := make(chan struct{})
	f.server = f.start(llmtest.Func(func(ctx context.Context, req llm.Request, emit func(string)) (llm.Result, error) {
		if strings.HasSuffix(req.Messages[len(req.Messages)-1].Content, "二つ目") && len(req.Messages) == 2 {
			<-release // Asked by what was remembered, it does not end before the other one has begun.
			return llm.Result{}, llm.Canceled(ctx)
		}
		return echo(ctx, req, emit)
	}), f.db, chat.Config{MaxPerPerson: 1})
	other := f.start(llmtest.Func(echo), f.db, chat.Config{})
	f.thread = f.newThread(chatSkill)
	f.waitAt(other, f.sendTo(other, f.question("一つ目")))
	exchange, err := f.server.Send(t.Context(), f.owner, f.question("二つ目"))
	close(release)
	if err != nil {
		t.Fatal(err)
	}
	if got := f.wait(exchange); !strings.Contains(got.Answer.Content, "一つ目|") {
		t.Errorf("answered %q", got.Answer.Content)
	}
	f.thread = f.newThread(chatSkill) // The place was given back once, and not twice.
	if got := f.wait(f.send(f.question("三つ目"))); !strings.HasSuffix(got.Answer.Content, "三つ目") {
		t.Errorf("answered %q", got.Answer.Content)
	}
}

// TestFirstQuestionElsewhere: another server has asked in the thread meanwhile.
func TestFirstQuestionElsewhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Func(echo))
	f.thread = f.newThread(chatSkill)
	other := f.start(llmtest.Func(echo), f.db, chat.Config{})
	f.waitAt(other, f.sendTo(other, f.question("一つ目")))
	got := f.wait(f.send(f.question("二つ目")))
	if !strings.Contains(got.Answer.Content, "一つ目|") || len(f.messages()) != 4 {
		t.Errorf("%d messages, the last one %q", len(f.messages()), got.Answer.Content)
	}
}

// TestTitleGivenBeforeTheFirstQuestion: nobody makes another one.
func TestTitleGivenBeforeTheFirstQuestion(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	var asked atomic.Int32
	f.server = f.start(llmtest.Func(func(ctx context.Context, req llm.Request, emit func(string)) (llm.Result, error) {
		asked.Add(1)
		return llmtest.Say("答え")(ctx, req, emit)
	}), f.db, chat.Config{})
	f.thread = f.newThread(chatSkill)
	if _, err := f.server.RenameThread(t.Context(), f.owner, f.thread.ID, "議事録"); err != nil {
		t.Fatal(err)
	}
	f.wait(f.send(f.question("一つ目")))
	f.server.Stop(context.WithoutCancel(t.Context())) // It waits for all that was begun.
	thread, err := f.db.FindThread(t.Context(), f.owner, f.thread.ID)
	if err != nil || thread.Title != "議事録" || asked.Load() != 1 {
		t.Errorf("%q, %v, the model asked %d times", thread.Title, err, asked.Load())
	}
}

// TestRememberedThreadsAreBounded: by their age and by the memory that they take, whether they are asked in or not.
func TestRememberedThreadsAreBounded(t *testing.T) {
	t.Parallel()
	var f chat.Fresh
	now := time.Now()
	old, young := newID(), newID()
	f.Put(old, chat.Looked{Version: 1}, now)
	f.Put(young, chat.Looked{Version: 2}, now.Add(time.Second))
	if _, there := f.Take(old, now.Add(chat.FreshLife)); there {
		t.Error("an old thread is remembered")
	}
	if looked, there := f.Take(young, now.Add(chat.FreshLife)); !there || looked.Version != 2 {
		t.Errorf("a younger one: %+v, %v", looked, there)
	}
	if _, there := f.Take(young, now.Add(chat.FreshLife)); there {
		t.Error("it was given out twice")
	}

	big := chat.Looked{Skill: skill.Skill{Prompt: strings.Repeat("あ", 20_000)}}
	for range 10_000 {
		f.Put(newID(), big, now.Add(chat.FreshLife))
	}
	if threads, ordered, bytes := f.Held(); threads < 100 || bytes > 16<<20 || ordered > threads+2 {
		t.Errorf("%d threads, %d in order, %d bytes", threads, ordered, bytes)
	}
	for range 1000 {
		id := newID()
		f.Put(id, chat.Looked{}, now.Add(2*chat.FreshLife))
		f.Take(id, now.Add(2*chat.FreshLife))
	}
	last := newID()
	f.Put(last, chat.Looked{}, now.Add(2*chat.FreshLife))
	if threads, ordered, _ := f.Held(); threads != 1 || ordered != 1 {
		t.Errorf("%d threads, %d in order", threads, ordered)
	}
	f.Take(last, now)
	if threads, _, bytes := f.Held(); threads != 0 || bytes != 0 {
		t.Errorf("%d threads, %d bytes", threads, bytes)
	}
}
