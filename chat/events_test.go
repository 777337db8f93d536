package chat_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// recordedEvents records a server's events.
type recordedEvents struct {
	mu      sync.Mutex
	entries []string // Guarded by mu.

	deleted chan struct{} // Closed when a thread has been deleted; may be nil.
}

func (e *recordedEvents) add(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.entries = append(e.entries, fmt.Sprintf(format, args...))
}

func (e *recordedEvents) ThreadChanged(_ chat.Readers, t chat.Thread) {
	e.add("thread %q running=%v skill=%q", t.Title, t.Running, t.SkillName)
}

func (e *recordedEvents) ThreadDeleted(chat.Readers, uuid.UUID) {
	e.add("deleted")
	if e.deleted != nil {
		close(e.deleted)
	}
}

func (e *recordedEvents) MessageChanged(_ chat.Readers, m chat.Message) {
	e.add("%s %s %s %q completed=%v rated=%v", m.Role, m.Status, m.FinishReason, m.Content, m.CompletedAt != nil,
		m.Feedback != nil)
}

// take returns the events since the last call.
func (e *recordedEvents) take() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	acquired := e.entries
	e.entries = nil
	return acquired
}

func TestEventsReportCommittedChanges(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	events := &recordedEvents{}
	model := newTitler(llmtest.Say("回答"))
	f.server = f.startWith(chat.Deps{Model: model, Events: events}, chat.Config{})
	expect := func(what string, want ...string) {
		t.Helper()
		if got := events.take(); !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %q\nwant %q", what, got, want)
		}
	}
	thread := func(title string, running bool) string {
		return fmt.Sprintf("thread %q running=%v skill=%q", title, running, chatSkill.Name)
	}
	request := newID()
	var err error
	for range 2 { // The second call finds the thread.
		if f.thread, err = f.server.CreateThread(t.Context(), f.owner,
			chat.NewThread{SkillID: chatSkill.ID, RequestID: &request}); err != nil {
			t.Fatal(err)
		}
	}
	expect("create", thread("", false))

	q := f.question("質問")
	exchange := f.send(q)
	f.follow(f.server, exchange.Answer.ID, "")
	call := model.next(t)
	call.say <- llmtest.Title
	f.server.Stop(context.WithoutCancel(t.Context())) // Waits until all events were sent.
	want := []string{
		thread("質問", true), `user success  "質問" completed=true rated=false`,
		`assistant running  "" completed=false rated=false`,
		`assistant success stop "回答" completed=true rated=false`, thread("質問", false), thread(llmtest.Title, false),
	}
	expect("an answer", want...)
	f.server = f.startWith(chat.Deps{Model: model, Events: events}, chat.Config{})
	f.send(q)
	if _, err := f.server.Send(t.Context(), f.member(), f.question("他人")); err == nil {
		t.Error("a stranger asks")
	}
	expect("what has not happened")

	must.Succeed(t, f.server.GiveFeedback(t.Context(), f.owner, exchange.Answer.ID,
		chat.Feedback{Rating: chat.RatingGood}))
	expect("feedback", `assistant success stop "回答" completed=true rated=true`)
	if _, err := f.server.EditThread(t.Context(), f.owner, f.thread.ID,
		chat.ThreadEdit{Title: new("新しい題")}); err != nil {
		t.Fatal(err)
	}
	if _, err := f.server.TouchThread(t.Context(), f.owner, f.thread.ID); err != nil {
		t.Fatal(err)
	}
	expect("rename and touch", thread("新しい題", false), thread("新しい題", false))
	must.Succeed(t, f.server.DeleteThread(t.Context(), f.owner, f.thread.ID))
	if err := f.server.DeleteThread(t.Context(), f.owner, f.thread.ID); err == nil {
		t.Error("it is deleted twice")
	}
	expect("delete", "deleted")
}

func (*recordedEvents) MessageDeleted(chat.Readers, uuid.UUID, uuid.UUID) {}
func (*recordedEvents) ToolCallChanged(identity.Owner, chat.ToolApproval) {}
