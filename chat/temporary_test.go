package chat_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestTemporaryThreadsAreDeletedByAnyServer: a thread expires while another server generates an answer in it. The
// server that deletes it stops the generation and notifies tabs. Other threads are kept.
func TestTemporaryThreadsAreDeletedByAnyServer(t *testing.T) {
	t.Parallel()
	dsn := storetest.DSN(t)
	db := must.Get(store.Open(t.Context(), dsn))(t)
	t.Cleanup(db.Close)
	f := newFixtureOn(t, db, llmtest.Say("はい"))
	feed := must.Get(stream.NewFeed(nil))(t)
	model, events := llmtest.NewLive(), &recordedEvents{deleted: make(chan struct{})}
	// Its lease is not renewed during the test, because a renewal would also stop the generation.
	writer := f.startWith(chat.Deps{Model: model, Feed: feed},
		chat.Config{Expiry: time.Hour, Lease: 4 * time.Hour, Heartbeat: time.Hour})
	temporary := chat.NewThread{SkillID: chatSkill.ID, Lifetime: time.Hour}
	thread := must.Get(writer.CreateThread(t.Context(), f.owner, temporary))(t)
	exchange := must.Get(writer.Send(t.Context(), f.owner, chat.Question{
		RequestID: newID(), ThreadID: thread.ID,
		Content: "質問",
	}))(t)
	attached := must.Get(writer.Attach(t.Context(), f.owner, exchange.Answer.ID))(t)
	defer attached.Leave()
	conn := must.Get(pgx.Connect(t.Context(), dsn))(t)
	defer conn.Close(context.WithoutCancel(t.Context()))
	if _, err := conn.Exec(t.Context(), `UPDATE threads SET expires_at = now() WHERE id = $1`, thread.ID); err != nil {
		t.Fatal(err)
	}

	// It deletes expired threads at its start.
	f.startWith(chat.Deps{Feed: feed, Events: events}, chat.Config{Expiry: time.Hour})
	within, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := attached.Text.Wait(within); err != nil {
		t.Fatal("the answer is still being written: ", err)
	}
	if _, err := writer.FindThread(t.Context(), f.owner, thread.ID); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("the thread whose time is over: %v", err)
	}
	if _, err := writer.FindThread(t.Context(), f.owner, f.thread.ID); err != nil {
		t.Errorf("the thread that is kept: %v", err)
	}
	await(t, "that the tabs are told", events.deleted) // After the writer was stopped.
	if got := strings.Join(events.take(), "|"); got != "deleted" {
		t.Errorf("the tabs are told %q", got)
	}
}
