package store_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"math"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

const lease = 8 * time.Second

// question returns a new question in a thread.
func question(owner identity.Owner, threadID, serverID uuid.UUID) chat.NewGeneration {
	request := newID()
	b := chat.NewGeneration{Owner: owner, RequestID: request, RequestHash: sha256.Sum256(request[:]), ServerID: serverID}
	b.Question = chat.Message{
		ID: newID(), ThreadID: threadID, Role: chat.RoleUser, Content: "質問です", Prompt: "モデルへの質問です",
		Status:    chat.StatusSuccess,
		Citations: []chat.Citation{}, Steps: []chat.Step{},
	}
	b.Answer = chat.Message{
		ID: newID(), ThreadID: threadID, Role: chat.RoleAssistant, Status: chat.StatusPending,
		Citations: []chat.Citation{},
		Steps:     []chat.Step{}, ParentID: &b.Question.ID, Run: 1,
	}
	return b
}

// outcome returns a successful outcome of a generation.
func outcome(owner identity.Owner, b chat.StoredGeneration, serverID uuid.UUID, content string) chat.Outcome {
	return chat.Outcome{
		Owner: owner, ThreadID: b.Answer.ThreadID, MessageID: b.Answer.ID, Run: b.Answer.Run, ServerID: serverID,
		Content: content, Status: chat.StatusSuccess,
		FinishReason: chat.FinishStop, Model: "model-1", InputTokens: 12, OutputTokens: 34,
	}
}

// end ends a generation.
func (f *fixture) end(t *testing.T, o chat.Outcome) error {
	t.Helper()
	_, err := f.EndGeneration(t.Context(), o)
	return err
}

// exchange asks at the end of the branch that was shown last, and answers.
func (f *fixture) exchange(t *testing.T, owner identity.Owner, threadID, serverID uuid.UUID, ask,
	answer string,
) chat.StoredGeneration {
	t.Helper()
	b := question(owner, threadID, serverID)
	b.Question.Content, b.Question.ParentID = ask, f.leaf(t, threadID)
	return f.answer(t, b, answer)
}

// answer begins a generation and ends it.
func (f *fixture) answer(t *testing.T, b chat.NewGeneration, answer string) chat.StoredGeneration {
	t.Helper()
	begun := must.Get(f.BeginGeneration(t.Context(), b))(t)
	must.Succeed(t, f.end(t, outcome(b.Owner, begun, b.ServerID, answer)))
	return begun
}

// begin begins a generation in a new thread.
func (f *fixture) begin(t *testing.T, owner identity.Owner, serverID uuid.UUID) chat.StoredGeneration {
	t.Helper()
	begun := must.Get(f.BeginGeneration(t.Context(), question(owner, f.thread(t, owner).ID, serverID)))(t)
	return begun
}

// again returns a request for another answer to the same question.
func again(owner identity.Owner, asked chat.Message, serverID uuid.UUID) chat.NewGeneration {
	b := question(owner, asked.ThreadID, serverID)
	b.Question, b.Regenerate, b.Answer.ParentID = asked, true, &asked.ID
	return b
}

// leaf returns the last message of the branch of a thread that was shown last.
func (f *fixture) leaf(t *testing.T, threadID uuid.UUID) *uuid.UUID {
	t.Helper()
	return value[*uuid.UUID](t, f, `SELECT leaf_id FROM threads WHERE id = $1`, threadID)
}

func TestGenerationFromBeginToEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	thread, server := f.thread(t, f.ann), newID()
	b := question(f.ann, thread.ID, server)
	begun := must.Get(f.BeginGeneration(t.Context(), b))(t)
	q, a := begun.Question, begun.Answer
	if begun.Existing || q.ID != b.Question.ID || q.ThreadID != thread.ID || q.Role != chat.RoleUser ||
		q.Content != b.Question.Content ||
		q.Prompt != b.Question.Prompt || q.Status != chat.StatusSuccess || q.Run != 0 || q.ParentID != nil ||
		q.CompletedAt == nil {
		t.Errorf("question: %+v", q)
	}
	if a.ID != b.Answer.ID || a.ThreadID != thread.ID || a.Role != chat.RoleAssistant || a.Content != "" ||
		a.Run != 1 ||
		a.Status != chat.StatusPending || a.FinishReason != "" || a.ParentID == nil || *a.ParentID != q.ID ||
		a.CompletedAt != nil || a.Failure != nil {
		t.Errorf("answer: %+v", a)
	}
	got, err := f.FindThread(t.Context(), f.ann, thread.ID)
	if err != nil || !got.Running || !got.TouchedAt.After(thread.TouchedAt) || !got.UpdatedAt.After(thread.UpdatedAt) {
		t.Errorf("thread while it runs: %+v, %v", got, err)
	}

	end := outcome(f.ann, begun, server, "答えの「本文」\r\nです\ufeff")
	end.Citations = []chat.Citation{{
		Index: 1, ChunkEmbeddingID: newID(), Filename: "規程.pdf",
		DataSourceID: f.source(t, f.ann, "規程").ID,
		Page:         3, Score: 0.5, Quote: "引用",
	}}
	end.Steps = []chat.Step{{Kind: "retrieval", Status: chat.StatusSuccess, Detail: "2件"}}
	must.Succeed(t, f.end(t, end))
	a, err = f.FindMessage(t.Context(), f.ann, a.ID)
	if err != nil || a.Content != end.Content || a.Status != end.Status || a.FinishReason != end.FinishReason ||
		a.Failure != nil ||
		a.Model != end.Model || a.InputTokens != 12 || a.OutputTokens != 34 || a.CompletedAt == nil ||
		!reflect.DeepEqual(a.Citations, end.Citations) || !reflect.DeepEqual(a.Steps, end.Steps) {
		t.Errorf("stored answer: %+v, %v", a, err)
	}
	after, err := f.FindThread(t.Context(), f.ann, thread.ID)
	if err != nil || after.Running || !after.TouchedAt.Equal(got.TouchedAt) || !after.UpdatedAt.After(got.UpdatedAt) {
		t.Errorf("thread at the end: %+v, %v", after, err)
	}
	// Repeating the call, as after a lost acknowledgement, changes nothing.
	first := end.Content
	end.Content = "別の文章"
	must.Succeed(t, f.end(t, end))
	if a, err = f.FindMessage(t.Context(), f.ann, a.ID); err != nil || a.Content != first {
		t.Errorf("after a second end: %+v, %v", a, err)
	}
}

// TestAbsurdUsageIsStored: an answer is stored whatever token counts a provider reports.
func TestAbsurdUsageIsStored(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := newID()
	begun := must.Get(f.BeginGeneration(t.Context(), question(f.ann, f.thread(t, f.ann).ID, server)))(t)
	o := outcome(f.ann, begun, server, "回答")
	o.InputTokens, o.OutputTokens = -1, math.MaxInt
	must.Succeed(t, f.end(t, o))
	stored := must.Get(f.FindMessage(t.Context(), f.ann, begun.Answer.ID))(t)
	if stored.Content != "回答" || stored.InputTokens != 0 || stored.OutputTokens != math.MaxInt32 {
		t.Errorf("stored %+v", stored)
	}
}

func TestFailureIsKeptWithItsText(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	thread, server := f.thread(t, f.ann), newID()
	begun := must.Get(f.BeginGeneration(t.Context(), question(f.ann, thread.ID, server)))(t)
	end := outcome(f.ann, begun, server, "途中まで\x00\xff")
	end.Status, end.FinishReason = chat.StatusFailed, chat.FinishError
	end.Failure = &chat.Failure{Code: "unavailable", Detail: "モデルが\x00応答しません。", Retryable: true}
	end.Reasoning, end.ReasoningTime = "考え\x00", 1500*time.Millisecond
	must.Succeed(t, f.end(t, end))
	got, err := f.FindMessage(t.Context(), f.ann, begun.Answer.ID)
	want := chat.Failure{Code: "unavailable", Detail: "モデルが\x1a応答しません。", Retryable: true}
	// NUL, which PostgreSQL cannot store, becomes another character of one byte.
	if got.Reasoning != "考え\x1a" || got.ReasoningTime != 1500*time.Millisecond {
		t.Errorf("reasoning %q, %v", got.Reasoning, got.ReasoningTime)
	}
	if err != nil || got.Content != "途中まで\x1a\ufffd" || got.Status != chat.StatusFailed || got.Failure == nil ||
		*got.Failure != want {
		t.Errorf("stored: %+v, %v", got, err)
	}
}

func TestR32_OneExchangeForOneRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	thread := f.thread(t, f.ann)
	b := question(f.ann, thread.ID, newID())
	var begun, existing atomic.Int32
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			try := b
			try.Question.ID, try.Answer.ID = newID(), newID()
			got, err := f.BeginGeneration(t.Context(), try)
			switch {
			case err != nil:
				t.Errorf("BeginGeneration: %v", err)
			case got.Existing:
				existing.Add(1)
			case got.Answer.ID == try.Answer.ID && got.Question.ID == try.Question.ID:
				begun.Add(1)
			}
		})
	}
	wg.Wait()
	if begun.Load() != 1 || existing.Load() != 19 {
		t.Errorf("%d begun, %d existing", begun.Load(), existing.Load())
	}
	if n := value[int](t, f, `SELECT count(*) FROM messages`); n != 2 {
		t.Errorf("%d messages", n)
	}
	if n := value[int](t, f, `SELECT count(*) FROM generations`); n != 1 {
		t.Errorf("%d generations", n)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	thread, other, server := f.thread(t, f.ann), f.thread(t, f.ann), newID()
	b := question(f.ann, thread.ID, server)
	look := func(owner identity.Owner, hash [32]byte) (chat.ThreadState, error) {
		return f.LoadThreadState(t.Context(), owner, thread.ID, nil, b.RequestID, hash, chat.HistoryLimit{Messages: 10, Bytes: 1 << 20})
	}
	sk := must.Get(f.FindSkill(t.Context(), f.ann.OrganizationID, f.ann.UserID, thread.SkillID))(t)
	want := chat.ThreadState{Skill: skill.Skill{
		ID: sk.ID, Kind: sk.Kind, TaskType: sk.TaskType, FormType: sk.FormType, FormFields: sk.FormFields,
		Prompt: sk.Prompt,
	}}
	if got, err := look(f.ann, b.RequestHash); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("before: %+v, %v; want %+v", got, err, want)
	}
	begun := must.Get(f.BeginGeneration(t.Context(), b))(t)
	must.Succeed(t, f.end(t, outcome(f.ann, begun, server, "答え")))
	got, err := look(f.ann, b.RequestHash)
	if err != nil || got.Existing == nil || got.Existing.Question.ID != begun.Question.ID ||
		got.Existing.Answer.Content != "答え" {
		t.Errorf("after: %+v, %v", got, err)
	}
	if got, err := look(f.bob, b.RequestHash); !errors.Is(err, chat.ErrNoThread) || got.Existing != nil {
		t.Errorf("a colleague's: %+v, %v", got, err)
	}
	// Another request in the thread reads the same messages as History.
	got = must.Get(f.LoadThreadState(t.Context(), f.ann, thread.ID, nil, newID(), b.RequestHash,
		chat.HistoryLimit{Messages: 10, Bytes: 1 << 20}))(t)
	said, err := f.History(t.Context(), f.ann, thread.ID, begun.Answer.ID, chat.HistoryLimit{Messages: 10, Bytes: 1 << 20})
	if err != nil || got.Existing != nil || len(said) != 2 || !reflect.DeepEqual(got.History, said) {
		t.Errorf("another request: %+v, %v; want %+v", got, err, said)
	}
	if again, err := f.BeginGeneration(t.Context(), b); err != nil || !again.Existing || again.Answer.Content != "答え" {
		t.Errorf("once more: %+v, %v", again, err)
	}

	changed := b
	changed.RequestHash[0]++
	if _, err := look(f.ann, changed.RequestHash); !errors.Is(err, chat.ErrRequestConflict) {
		t.Errorf("Look with another body: %v", err)
	}
	if _, err := f.BeginGeneration(t.Context(), changed); !errors.Is(err, chat.ErrRequestConflict) {
		t.Errorf("BeginGeneration with another body: %v", err)
	}
	changed.Answer.ThreadID = other.ID
	if _, err := f.BeginGeneration(t.Context(), changed); !errors.Is(err, chat.ErrRequestConflict) {
		t.Errorf("in another thread: %v", err)
	}
	if list, err := f.ListMessages(t.Context(), f.ann, other.ID, nil, 0, 10); err != nil || len(list) != 0 {
		t.Errorf("a refused question was stored: %+v, %v", list, err)
	}
}

// TestR32_RequestThatIsJustStored: if another server stores the same request during the lookup, BeginGeneration returns
// its exchange instead of reporting the thread as busy.
func TestR32_RequestThatIsJustStored(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	thread := f.thread(t, f.ann)
	b := question(f.ann, thread.ID, newID())
	look := func() (chat.ThreadState, error) {
		return f.LoadThreadState(t.Context(), f.ann, thread.ID, nil, b.RequestID, b.RequestHash,
			chat.HistoryLimit{Messages: 10, Bytes: 1 << 20})
	}
	_, err := look() // Prepare the statements now, so that only the lock on the thread blocks the call below.
	must.Succeed(t, err)
	conn := must.Get(pgx.Connect(t.Context(), f.dsn))(t)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	other := must.Get(conn.Begin(t.Context()))(t)
	must.Get(other.Exec(t.Context(), `LOCK TABLE threads IN ACCESS EXCLUSIVE MODE`))(t)
	var got chat.ThreadState
	looked := make(chan error, 1)
	go func() {
		var err error
		got, err = look()
		looked <- err
	}()
	waitForLock(t, f)
	must.Get(other.Exec(t.Context(), `
		INSERT INTO messages (id, organization_id, thread_id, role, content, status, completed_at)
		VALUES ($1, $2, $3, 'user', 'x', 'success', now())`, b.Question.ID, f.ann.OrganizationID, thread.ID))(t)
	_, err = other.Exec(t.Context(), `
		INSERT INTO messages (id, organization_id, thread_id, role, status, parent_id)
		VALUES ($1, $2, $3, 'assistant', 'pending', $4)`, b.Answer.ID, f.ann.OrganizationID, thread.ID, b.Question.ID)
	must.Succeed(t, err)
	must.Get(other.Exec(t.Context(), `
		INSERT INTO generations (message_id, organization_id, user_id, thread_id, request_id,
		    request_hash, server_id, run)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 1)`,
		b.Answer.ID, f.ann.OrganizationID, f.ann.UserID, thread.ID, b.RequestID, b.RequestHash[:], b.ServerID))(t)
	must.Get(other.Exec(t.Context(), `UPDATE threads SET leaf_id = $1 WHERE id = $2`, b.Answer.ID, thread.ID))(t)
	must.Succeed(t, other.Commit(t.Context()))
	must.Succeed(t, <-looked)
	if got.Existing == nil || got.Existing.Answer.ID != b.Answer.ID {
		t.Errorf("a request that is known: %+v", got)
	}
}

// waitForLock returns when a session in the fixture's database waits for a lock.
func waitForLock(t *testing.T, f *fixture) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !waitsForLock(t, f) {
		if time.Now().After(deadline) {
			t.Fatal("nothing waits for a lock")
		}
	}
}

// waitsForLock reports whether a session in the fixture's database waits for a lock.
func waitsForLock(t *testing.T, f *fixture) bool {
	t.Helper()
	return value[bool](t, f, `SELECT EXISTS (
		SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')`)
}

func TestOneRequestInManyThreadsAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	request := newID()
	var begun, refused atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		b := question(f.ann, f.thread(t, f.ann).ID, newID())
		b.RequestID = request // The hash differs, as if the body named another thread.
		wg.Go(func() {
			switch _, err := f.BeginGeneration(t.Context(), b); {
			case err == nil:
				begun.Add(1)
			case errors.Is(err, chat.ErrRequestConflict):
				refused.Add(1)
			default:
				t.Errorf("BeginGeneration: %v", err)
			}
		})
	}
	wg.Wait()
	if begun.Load() != 1 || refused.Load() != 7 {
		t.Errorf("%d begun, %d refused", begun.Load(), refused.Load())
	}
}

func TestOneGenerationAtATimeInAThread(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	thread, server := f.thread(t, f.ann), newID()
	var begun, busy atomic.Int32
	var winner atomic.Pointer[chat.StoredGeneration]
	var wg sync.WaitGroup
	for range 20 {
		b := question(f.ann, thread.ID, server)
		wg.Go(func() {
			switch got, err := f.BeginGeneration(t.Context(), b); {
			case err == nil:
				begun.Add(1)
				winner.Store(&got)
			case errors.Is(err, chat.ErrThreadBusy):
				busy.Add(1)
			default:
				t.Errorf("BeginGeneration: %v", err)
			}
		})
	}
	wg.Wait()
	if begun.Load() != 1 || busy.Load() != 19 {
		t.Fatalf("%d begun, %d busy", begun.Load(), busy.Load())
	}
	must.Succeed(t, f.end(t, outcome(f.ann, *winner.Load(), server, "答え")))
	must.Get(f.BeginGeneration(t.Context(), question(f.ann, thread.ID, server)))(t)
}

func TestRequestStop(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	thread, server := f.thread(t, f.ann), newID()
	begun := must.Get(f.BeginGeneration(t.Context(), question(f.ann, thread.ID, server)))(t)
	for range 2 {
		if running, err := f.RequestStop(t.Context(), f.ann, begun.Answer.ID); err != nil || !running {
			t.Errorf("RequestStop = %v, %v", running, err)
		}
	}
	must.Succeed(t, f.end(t, outcome(f.ann, begun, server, "ここまで")))
	for _, id := range []uuid.UUID{begun.Answer.ID, begun.Question.ID} {
		if running, err := f.RequestStop(t.Context(), f.ann, id); err != nil || running {
			t.Errorf("RequestStop of a complete answer = %v, %v", running, err)
		}
	}
}

// TestR33_OneEndForOneGeneration: of several concurrent ends of the same run one succeeds.
func TestR33_OneEndForOneGeneration(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := newID()
	for range 25 {
		begun := must.Get(f.BeginGeneration(t.Context(), question(f.ann, f.thread(t, f.ann).ID, server)))(t)
		var wg sync.WaitGroup
		seen := make(chan string, 4)
		for i := range 4 {
			wg.Go(func() {
				if err := f.end(t, outcome(f.ann, begun, server, strconv.Itoa(i))); err != nil {
					t.Errorf("EndGeneration: %v", err)
				}
				m, err := f.FindMessage(t.Context(), f.ann, begun.Answer.ID)
				if err != nil {
					t.Errorf("FindMessage: %v", err)
				}
				seen <- m.Content
			})
		}
		wg.Go(func() {
			if _, err := f.RequestStop(t.Context(), f.ann, begun.Answer.ID); err != nil {
				t.Errorf("RequestStop: %v", err)
			}
		})
		wg.Wait()
		close(seen)
		first := <-seen
		for content := range seen {
			if content != first {
				t.Fatalf("one end overwrote another: %q, %q", first, content)
			}
		}
	}
}
