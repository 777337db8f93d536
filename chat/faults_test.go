package chat_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/postgres"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestR21_DatabaseRestartsInMidAnswer stops PostgreSQL while an answer is generated, lets the answer end, and starts
// PostgreSQL again. The stream is not interrupted, and the answer is stored once.
func TestR21_DatabaseRestartsInMidAnswer(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("/tmp", "tsumugi-chat-*") // Accessible to the server's account, unlike t.TempDir.
	must.Succeed(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // As above.
		t.Fatal(err)
	}
	cfg := postgres.Config{
		DataDir: dir, Logger: slog.New(slog.DiscardHandler),
		Settings: map[string]string{"shared_buffers": "16MB"},
	}
	server, err := postgres.Start(t.Context(), cfg)
	must.Succeed(t, err)
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	raw, err := store.Open(t.Context(), server.DSN())
	must.Succeed(t, err)
	t.Cleanup(raw.Close)
	must.Succeed(t, raw.Migrate(t.Context()))
	f := newFixtureOn(t, raw, nil)
	db, model := &heldUp{Store: raw}, llmtest.NewLive()
	config := takesOver()
	config.StoreRetry = 50 * time.Millisecond
	s := f.start(model, db, config)
	exchange := f.sendTo(s, f.question("はい"))
	call := model.Next(t)
	call.Emit("前、")
	w := f.watch(s, exchange.Answer.ID)

	must.Succeed(t, server.Stop(t.Context()))
	call.Emit("間、")
	began := time.Now()
	if _, err := s.Send(t.Context(), f.owner, f.question("今は無理")); fault.CodeOf(err) != fault.Unavailable ||
		time.Since(began) > 30*time.Second {
		t.Errorf("a question meanwhile: %v after %v", err, time.Since(began))
	}
	call.Emit("後")
	call.Finish()
	if server, err = postgres.Start(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	if raw := f.drain(w); deltas(t, raw) != "前、間、後" || strings.Count(raw, `{"type":"finish"`) != 1 {
		t.Errorf("the stream told %s", raw)
	}
	stored := f.wait(exchange).Answer
	if stored.Content != "前、間、後" || stored.Run != 1 || stored.Status != chat.StatusSuccess || db.ends.Load() != 1 {
		t.Errorf("stored %+v, %d times", stored, db.ends.Load())
	}
	s.kill()
	f.server.kill()
}

// TestR24to27_ManyStreamsWhileTheProviderFails: a provider fails in every way during a hundred answers. Each answer
// ends once, and is stored as it was streamed.
func TestR24to27_ManyStreamsWhileTheProviderFails(t *testing.T) {
	t.Parallel()
	provider := httptest.NewServer(llmtest.NewHandler(0))
	t.Cleanup(provider.Close)
	client := must.Get(llm.NewClient(llm.Config{
		BaseURL: provider.URL, Model: llmtest.ModelName, MaxRetries: 1, Backoff: time.Millisecond,
		MaxBackoff:   2 * time.Millisecond,
		TokenTimeout: 5 * time.Second, FirstTokenTimeout: time.Minute,
	}))(t)
	t.Cleanup(client.Close)
	f := newFixture(t, nil)
	s := f.start(client, f.db, chat.Config{MaxPerPerson: 1000})
	ways := []struct {
		script, text string
		code         fault.Code // "" for a successful answer.
	}{
		{`{"text":"一二三四五六"}`, "一二三四五六", ""},
		{`{"status":429,"retry_after":60}`, "", llm.CodeRateLimited},
		{`{"status":500}`, "", llm.CodeUnavailable},
		{`{"status":401}`, "", llm.CodeAuth},
		{`{"text":"一二三四五六","stall_after":4}`, "一二三四", llm.CodeTimeout},
		{`{"text":"一二三四五六","fail":"eof","fail_after":4}`, "一二三四", llm.CodeInterrupted},
		{`{"text":"一二三四五六","fail":"kill","fail_after":4}`, "一二三四", llm.CodeInterrupted},
		{`{"text":"一二三四五六","fail":"half_json","fail_after":4}`, "一二三四", llm.CodeBadResponse},
		{`{"text":"一二三四五六","fail":"error","fail_after":4}`, "一二三四", llm.CodeInterrupted},
		{`{"text":"一二三四五六","fail":"filter","fail_after":4}`, "一二三四", llm.CodeFiltered},
	}
	var streams sync.WaitGroup
	for i := range 100 {
		way := ways[i%len(ways)]
		thread := must.Get(s.CreateThread(t.Context(), f.owner, chat.NewThread{SkillID: chatSkill.ID, Title: "題"}))(t)
		streams.Go(func() {
			exchange := f.sendTo(s, chat.Question{
				RequestID: newID(), ThreadID: thread.ID, Content: fmt.Sprintf("%d: %s %s", i, llmtest.Marker,
					way.script),
			})
			raw := f.follow(s, exchange.Answer.ID, "")
			got := f.waitAt(s, exchange).Answer
			ends := strings.Count(raw, `{"type":"finish"`) + strings.Count(raw, `{"type":"error"`)
			if ends != 1 || !strings.HasSuffix(raw, "data: [DONE]\n\n") || deltas(t, raw) != way.text ||
				got.Content != way.text {
				t.Errorf("%s: stored %q, told %s", way.script, got.Content, raw)
			}
			var code string
			if got.Failure != nil {
				code = got.Failure.Code
			}
			if code != string(way.code) || strings.Contains(raw, `{"type":"error"`) != (way.code != "") {
				t.Errorf("%s: stored %q, told %s", way.script, code, raw)
			}
		})
	}
	streams.Wait()
	if stats := s.Stats(); stats != (chat.Stats{}) || s.hub.Stats().Texts != 0 {
		// A client may see the end of its stream before the text has left the hub; Stop waits for that.
		s.Stop(t.Context())
		if stats = s.Stats(); stats != (chat.Stats{}) || s.hub.Stats().Texts != 0 {
			t.Errorf("left over: %+v, %d texts", stats, s.hub.Stats().Texts)
		}
	}
}

// picky is a store that refuses every answer, or also failed ones.
type picky struct {
	chat.Store
	all  bool
	err  error
	ends atomic.Int32
}

func (s *picky) EndGeneration(ctx context.Context, o chat.Outcome) (chat.EndResult, error) {
	s.ends.Add(1)
	if s.all || o.Status == chat.StatusSuccess {
		return chat.EndResult{}, s.err
	}
	return s.Store.EndGeneration(ctx, o)
}

// TestAnswerThatCanNeverBeStoredFails: such an answer fails without endless retries, whether the database returns a
// reason or not.
func TestAnswerThatCanNeverBeStoredFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		all   bool
		err   error
		tries int32
	}{
		"invalid":      {false, fault.Errorf(fault.Invalid, "保存できません。"), 2},
		"unknown":      {false, errors.New("permission denied"), 9},
		"nothing goes": {true, fault.Errorf(fault.Invalid, "保存できません。"), 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			db := &picky{Store: f.db, all: c.all, err: c.err}
			model := llmtest.NewLive()
			s := f.start(model, db, chat.Config{StoreRetry: time.Millisecond, Lease: time.Hour})
			exchange := f.sendTo(s, f.question("はい"))
			call := model.Next(t)
			w := f.watch(s, exchange.Answer.ID)
			call.Emit("回答")
			call.Finish()
			raw := f.drain(w)
			if strings.Count(raw, `{"type":"error"`) != 1 || !strings.HasSuffix(raw, "data: [DONE]\n\n") {
				t.Errorf("the stream told %s", raw)
			}
			if n := db.ends.Load(); n != c.tries {
				t.Errorf("it was tried %d times", n)
			}
			got, err := f.db.FindMessage(t.Context(), f.owner, exchange.Answer.ID)
			if err != nil || (got.Status == chat.StatusFailed) == c.all {
				t.Errorf("stored %+v, %v", got, err)
			}
		})
	}
}
