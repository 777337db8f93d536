package chat_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// heldUp is the store of a server that can be suspended, as by SIGSTOP: its heartbeats block, and arrive when it
// continues. It counts the ends that the server stores.
type heldUp struct {
	chat.Store
	ends  atomic.Int32
	stale chan struct{} // Closed when an end is refused as stale. Nil if no test waits for it.
	away  atomic.Bool   // Renewals fail.

	// broken makes the renewal that was blocked fail afterwards, as if it had timed out.
	broken bool

	mu   sync.Mutex
	gate chan struct{} // Guarded by mu. Blocks renewals; nil while the server runs.
	at   chan struct{} // Guarded by mu. Closed when a renewal waits.
	seen bool          // Guarded by mu. at is closed.
}

func (s *heldUp) Renew(ctx context.Context, id uuid.UUID, held []chat.RunID) (chat.Renewal, error) {
	s.mu.Lock()
	gate := s.gate
	if gate != nil && !s.seen {
		s.seen = true
		close(s.at)
	}
	s.mu.Unlock()
	if gate != nil {
		<-gate
		if s.broken {
			<-ctx.Done()
			<-time.After(1200 * time.Millisecond) // No signal exists: this is how long the server was suspended.
			return chat.Renewal{}, ctx.Err()
		}
		ctx = context.WithoutCancel(ctx)
	}
	if s.away.Load() {
		return chat.Renewal{}, errFlaky
	}
	return s.Store.Renew(ctx, id, held)
}

func (s *heldUp) EndGeneration(ctx context.Context, o chat.Outcome) (chat.EndResult, error) {
	ended, err := s.Store.EndGeneration(ctx, o)
	if err == nil {
		s.ends.Add(1)
	}
	if errors.Is(err, chat.ErrStaleRun) && s.stale != nil {
		close(s.stale)
	}
	return ended, err
}

// hold suspends the server, and returns when its heartbeat is blocked.
func (s *heldUp) hold(t *testing.T) (release func()) {
	t.Helper()
	gate, at := make(chan struct{}), make(chan struct{})
	s.mu.Lock()
	s.gate, s.at, s.seen = gate, at, false
	s.mu.Unlock()
	await(t, "a heartbeat", at)
	var once sync.Once
	release = func() {
		once.Do(func() {
			s.mu.Lock()
			s.gate = nil
			s.mu.Unlock()
			close(gate)
		})
	}
	t.Cleanup(release)
	return release
}

// busyStore refuses the first renewals of a server's lease.
type busyStore struct {
	chat.Store
	refusals atomic.Int32 // That are left.
}

func (s *busyStore) Renew(ctx context.Context, id uuid.UUID, held []chat.RunID) (chat.Renewal, error) {
	if s.refusals.Add(-1) >= 0 {
		return chat.Renewal{}, errFlaky
	}
	return s.Store.Renew(ctx, id, held)
}

func TestServerStartsOnceABusyDatabaseAnswers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	db := &busyStore{Store: f.db}
	db.refusals.Store(3)
	s := f.start(llmtest.Say("答え"), db, quick())
	exchange := f.sendTo(s, f.question("始まる"))
	if stored := f.wait(exchange).Answer; stored.Content != "答え" || stored.Run != 1 {
		t.Errorf("stored %+v", stored)
	}
}

const testLease = 300 * time.Millisecond

// quick configures a server whose lease expires soon. It takes nothing over.
func quick() chat.Config {
	return chat.Config{Lease: testLease, Heartbeat: 20 * time.Millisecond, Sweep: time.Hour}
}

// takesOver configures a server that takes over from such a server, even if that was silent only because the machine
// was busy.
func takesOver() chat.Config {
	cfg := quick()
	cfg.Sweep = 20 * time.Millisecond
	return cfg
}

// TestR20_FencedServerPublishesNothing suspends a server until another one has taken its answer over. Its later output
// is neither published nor stored.
func TestR20_FencedServerPublishesNothing(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]bool{"its heartbeat comes through": false, "its heartbeat fails": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testFencing(t, broken)
		})
	}
}

func testFencing(t *testing.T, broken bool) {
	f := newFixture(t, nil)
	db, model := &heldUp{Store: f.db, broken: broken}, llmtest.NewLive()
	slow := f.start(model, db, quick())
	exchange := f.sendTo(slow, f.question("止まる"))
	call := model.Next(t)
	call.Emit("前の文章")
	w := f.watch(slow, exchange.Answer.ID)

	release := db.hold(t)
	other := f.start(llmtest.Say("次の文章"), f.db, takesOver())
	if raw := f.attachOnce(other, exchange, ""); deltas(t, raw) != "次の文章" {
		t.Fatalf("taken over: %s", raw)
	}
	late := make(chan struct{})
	go func() {
		call.Emit("、遅れた文章") // Waits for the heartbeat, which is blocked.
		close(late)
	}()
	release()
	await(t, "the late text", late)
	await(t, "the model is left alone", call.Gone())
	if raw := f.drain(w); deltas(t, raw) != "前の文章" || strings.Contains(raw, "[DONE]") {
		t.Errorf("the late server published %s", raw)
	}
	stored := f.wait(exchange).Answer
	if stored.Content != "次の文章" || stored.Run != 2 || db.ends.Load() != 0 {
		t.Errorf("stored %+v, %d times by the late server", stored, db.ends.Load())
	}
}

// TestR20_FencedTextIsForgottenAtOnce has a model that ignores the cancellation of a generation that was taken over: a
// client that reconnects meanwhile gets the answer's current state, and is not sent away again and again.
func TestR20_FencedTextIsForgottenAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	db, letGo := &heldUp{Store: f.db}, make(chan struct{})
	slow := f.start(llmtest.Func(func(ctx context.Context, _ llm.Request, emit func(string)) (llm.Result, error) {
		emit("前の文章")
		<-letGo
		return llm.Result{}, ctx.Err()
	}), db, quick())
	t.Cleanup(func() { close(letGo) })
	exchange := f.sendTo(slow, f.question("止まる"))
	w := f.watch(slow, exchange.Answer.ID)
	release := db.hold(t)
	f.waitAt(f.start(llmtest.Say("次の文章"), f.db, takesOver()), exchange)
	release()
	f.drain(w)
	if raw := f.follow(slow, exchange.Answer.ID, "1-12"); deltas(t, raw) != "次の文章" {
		t.Errorf("got %s", raw)
	}
}

// TestR20_ResumesBeforeTheFenceIsNoticed resumes at a server that was suspended, and whose heartbeat has not yet
// reported that another server has completed its answer: by the message's id and by the repeated question. This drops
// its own run, which counts as fenced.
func TestR20_ResumesBeforeTheFenceIsNoticed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	db, model, metrics := &heldUp{Store: f.db}, llmtest.NewLive(), &counted{n: map[string]int{}}
	slow := f.startWith(chat.Deps{Model: model, Store: db, Metrics: metrics}, quick())
	question := f.question("止まる")
	exchange := f.sendTo(slow, question)
	call := model.Next(t)
	call.Emit("前の文章")
	w := f.watch(slow, exchange.Answer.ID)
	f.drainUntil(w, "前の文章")
	cursor := fmt.Sprintf("%d-12", exchange.Answer.Run)
	release := db.hold(t)
	f.waitAt(f.start(llmtest.Say("次の文章"), f.db, takesOver()), exchange)

	again := f.sendTo(slow, question)
	attachment, err := slow.Follow(t.Context(), f.owner, again.Answer)
	if err != nil || attachment.Text == nil {
		t.Fatalf("the repeated question: %+v, %v", attachment, err)
	}
	for name, raw := range map[string]string{
		"repeated question": f.drain(attachment.Text.Watch(cursor)),
		"message":           f.follow(slow, exchange.Answer.ID, cursor),
	} {
		if !strings.Contains(raw, `"data-reset"`) || deltas(t, raw) != "次の文章" || !strings.Contains(raw, "[DONE]") {
			t.Errorf("%s: %s", name, raw)
		}
	}
	await(t, "the model is left alone", call.Gone())
	release()
	slow.Stop(t.Context())
	if metrics.n["fenced"] != 1 {
		t.Errorf("%d runs were fenced", metrics.n["fenced"])
	}
}

// TestR20_StaleEndCountsAsFenced ends an answer on a server that was suspended while another one completed the answer.
func TestR20_StaleEndCountsAsFenced(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	db, model := &heldUp{Store: f.db, stale: make(chan struct{})}, llmtest.NewLive()
	metrics := &counted{n: map[string]int{}}
	slow := f.startWith(chat.Deps{Model: model, Store: db, Metrics: metrics}, quick())
	exchange := f.sendTo(slow, f.question("止まる"))
	call := model.Next(t)
	release := db.hold(t)
	f.waitAt(f.start(llmtest.Say("次の文章"), f.db, takesOver()), exchange)
	call.Finish() // Before any heartbeat.
	await(t, "the store refuses the stale run", db.stale)
	release()
	slow.Stop(t.Context())
	if metrics.n["fenced"] != 1 {
		t.Errorf("%d runs were fenced", metrics.n["fenced"])
	}
}

// TestR21_AnswersGoOnWithoutTheDatabase has every renewal fail for longer than the lease.
func TestR21_AnswersGoOnWithoutTheDatabase(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	db, model := &heldUp{Store: f.db}, llmtest.NewLive()
	// It has expired at every delta.
	cfg := chat.Config{Lease: time.Millisecond, Heartbeat: 20 * time.Millisecond, Sweep: time.Hour}
	s := f.start(model, db, cfg)
	exchange := f.sendTo(s, f.question("はい"))
	call := model.Next(t)
	w := f.watch(s, exchange.Answer.ID)
	db.away.Store(true)
	for range 20 {
		call.Emit("続")
	}
	call.Finish()
	if raw := f.drain(w); deltas(t, raw) != strings.Repeat("続", 20) || !strings.Contains(raw, "[DONE]") {
		t.Errorf("got %s", raw)
	}
}

// TestServerThatLostItsRowKeepsWhatIsLeft removes the row of a suspended server: another one takes over the first of
// its two answers, and it keeps the second.
func TestServerThatLostItsRowKeepsWhatIsLeft(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	db, model := &heldUp{Store: f.db}, llmtest.NewLive()
	slow := f.start(model, db, quick())
	first := f.sendTo(slow, f.question("一つ目"))
	firstCall := model.Next(t)
	f.thread = f.newThread(chatSkill)
	second := f.sendTo(slow, f.question("二つ目"))
	secondCall := model.Next(t)
	release := db.hold(t)

	taker := llmtest.NewLive()
	cfg := takesOver()
	cfg.MaxGenerations = 1
	other := f.start(taker, f.db, cfg)
	taken := taker.Next(t)
	release()
	await(t, "the first answer is dropped", firstCall.Gone())
	secondCall.Emit("自分の")
	secondCall.Finish()
	if got, err := slow.WaitFor(t.Context(), f.owner, second); err != nil || got.Answer.Content != "自分の" ||
		got.Answer.Run != 1 {
		t.Errorf("the second answer: %+v, %v", got.Answer, err)
	}
	taken.Emit("引き継いだ")
	taken.Finish()
	if got, err := other.WaitFor(t.Context(), f.owner, first); err != nil || got.Answer.Content != "引き継いだ" ||
		got.Answer.Run != 2 {
		t.Errorf("the first answer: %+v, %v", got.Answer, err)
	}
}

// TestR20_OneOfManyServersTakesOver has several servers race for the answers of a dead one.
func TestR20_OneOfManyServersTakesOver(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.NewLive())
	var exchanges []chat.Exchange
	for range 8 {
		f.thread = f.newThread(chatSkill)
		exchanges = append(exchanges, f.send(f.question("はい")))
	}
	servers := make([]*server, 4)
	stores := make([]*heldUp, len(servers))
	for i := range servers {
		stores[i] = &heldUp{Store: f.db}
		servers[i] = f.start(llmtest.Say("引き継ぎ"), stores[i],
			chat.Config{Lease: time.Hour, Sweep: 5 * time.Millisecond, Patience: 20 * time.Millisecond})
	}
	f.server.kill() // The dead server's row is removed, which all see at once.
	for _, exchange := range exchanges {
		got, err := servers[0].WaitFor(t.Context(), f.owner, exchange)
		if err != nil || got.Answer.Content != "引き継ぎ" || got.Answer.Run != 2 {
			t.Errorf("stored %+v, %v", got.Answer, err)
		}
	}
	ends := 0
	for i, db := range stores {
		servers[i].Stop(t.Context()) // An answer can be read by others before the server that stores it counts it.
		ends += int(db.ends.Load())
	}
	if ends != len(exchanges) {
		t.Errorf("%d answers were stored %d times", len(exchanges), ends)
	}
}

// TestDeletedThreadEndsItsGenerationElsewhere deletes a thread on a server that cannot notify the one that generates.
func TestDeletedThreadEndsItsGenerationElsewhere(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	model := llmtest.NewLive()
	writer := f.start(model, f.db, quick())
	exchange := f.sendTo(writer, f.question("はい"))
	call := model.Next(t)
	w := f.watch(writer, exchange.Answer.ID)
	must.Succeed(t, f.server.DeleteThread(t.Context(), f.owner, f.thread.ID))
	await(t, "the model is left alone", call.Gone())
	if raw := f.drain(w); strings.Contains(raw, "[DONE]") {
		t.Errorf("the stream of a deleted answer ends as if it were complete: %s", raw)
	}
}

// TestR17_StopReachesTheServerThatWritesByAnEvent without the help of a heartbeat.
func TestR17_StopReachesTheServerThatWritesByAnEvent(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	feed, err := stream.NewFeed(nil) // Connects the servers.
	must.Succeed(t, err)
	model := llmtest.NewLive()
	cfg := chat.Config{Heartbeat: time.Hour, Lease: 2 * time.Hour}
	writer := f.startWith(chat.Deps{Model: model, Feed: feed}, cfg)
	other := f.startWith(chat.Deps{Feed: feed}, cfg)
	exchange := f.sendTo(writer, f.question("別のサーバーで"))
	call := model.Next(t)
	call.Emit("ここまで")
	feed.Publish("stop", []byte("no id")) // Of a future version.
	must.Succeed(t, other.StopMessage(t.Context(), f.owner, exchange.Answer.ID))
	await(t, "the model is left alone", call.Gone())
	if exchange, err = writer.WaitFor(t.Context(), f.owner, exchange); err != nil ||
		exchange.Answer.FinishReason != chat.FinishStopped || exchange.Answer.Content != "ここまで" {
		t.Errorf("stored %+v, %v", exchange.Answer, err)
	}
}

// lastBeat is the store of a server with a slow heartbeat. It records the order of calls.
type lastBeat struct {
	chat.Store
	slow    atomic.Bool
	at, end chan struct{}

	mu   sync.Mutex
	done []string // Guarded by mu.
}

func (s *lastBeat) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done = append(s.done, what)
}

func (s *lastBeat) Renew(ctx context.Context, id uuid.UUID, held []chat.RunID) (chat.Renewal, error) {
	if !s.slow.Load() {
		return s.Store.Renew(ctx, id, held)
	}
	close(s.at)
	select {
	case <-s.end:
	case <-ctx.Done():
		s.note("cut off") // It may have reached the database all the same.
		return chat.Renewal{}, ctx.Err()
	}
	renewal, err := s.Store.Renew(ctx, id, held)
	s.note("renewed")
	return renewal, err
}

func (s *lastBeat) RemoveServer(ctx context.Context, id uuid.UUID) error {
	s.note("removed")
	return s.Store.RemoveServer(ctx, id)
}

// TestStopWaitsForTheHeartbeatUnderWay: otherwise it might add the server's row again, and others would wait for its
// lease to expire before they take over its generations.
func TestStopWaitsForTheHeartbeatUnderWay(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	feed := must.Get(stream.NewFeed(nil))(t)
	db, model := &lastBeat{Store: f.db, at: make(chan struct{}), end: make(chan struct{})}, llmtest.NewLive()
	s := f.startWith(chat.Deps{Store: db, Model: model, Feed: feed},
		chat.Config{Lease: time.Hour, Heartbeat: time.Minute, Sweep: time.Hour})
	f.sendTo(s, f.question("続く"))
	call := model.Next(t)
	db.slow.Store(true)
	feed.MarkMissed() // Makes a server renew its lease to find what it has missed.
	await(t, "a heartbeat", db.at)
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		s.kill()
	}()
	await(t, "the end of what was being written", call.Gone())
	close(db.end)
	await(t, "the stop", stopped)
	if got := strings.Join(db.done, ", "); got != "renewed, removed" {
		t.Errorf("the heartbeat was %s", got)
	}
}
