package store_test

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func (f *fixture) thread(t *testing.T, owner identity.Owner) chat.Thread {
	t.Helper()
	thread := must.Get(f.CreateThread(t.Context(), owner, chat.NewThread{ID: newID(), SkillID: f.skills[0].ID}))(t)
	return thread
}

func TestCreateThread(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	request := newID()
	made := chat.NewThread{ID: newID(), SkillID: f.skills[0].ID, Title: "議事録", RequestID: &request}
	got := must.Get(f.CreateThread(t.Context(), f.ann, made))(t)
	if got.ID != made.ID || got.SkillID != made.SkillID || got.SkillName != "汎用チャット" ||
		got.SkillIconPath != "/icons/x.svg" ||
		got.Title != "議事録" || got.Running || got.CreatedAt.IsZero() || !got.TouchedAt.Equal(got.CreatedAt) {
		t.Errorf("CreateThread = %+v", got)
	}

	repeated := made
	repeated.ID = newID()
	if again, err := f.CreateThread(t.Context(), f.ann, repeated); err != nil || !reflect.DeepEqual(again, got) {
		t.Errorf("the same request: %+v, %v", again, err)
	}
	if other, err := f.CreateThread(t.Context(), f.bob, repeated); err != nil || other.ID != repeated.ID {
		t.Errorf("the same request id of a colleague: %+v, %v", other, err)
	}
	repeated.SkillID = f.skills[1].ID
	if _, err := f.CreateThread(t.Context(), f.ann, repeated); !errors.Is(err, chat.ErrRequestConflict) {
		t.Errorf("the same request id with another skill: %v", err)
	}

	foreign := f.ownSkill(t, f.b, 1, "他社")
	must.Succeed(t, f.SaveBuiltinSkills(t.Context(), f.cats, f.skills[1:])) // The first skill is retired.
	for name, id := range map[string]uuid.UUID{"foreign": foreign, "retired": f.skills[0].ID, "missing": newID()} {
		_, err := f.CreateThread(t.Context(), f.ann, chat.NewThread{ID: newID(), SkillID: id})
		if fault.CodeOf(err) != fault.NotFound {
			t.Errorf("%s skill: %v", name, err)
		}
	}
	if again, err := f.CreateThread(t.Context(), f.ann, made); err != nil || again.ID != got.ID {
		t.Errorf("the same request once its skill is retired: %+v, %v", again, err)
	}
}

func TestR32_OneThreadForOneRequest(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	request := newID()
	ids := make(chan uuid.UUID, 20)
	var wg sync.WaitGroup
	for range cap(ids) {
		wg.Go(func() {
			thread, err := f.CreateThread(t.Context(), f.ann,
				chat.NewThread{ID: newID(), SkillID: f.skills[0].ID, RequestID: &request})
			if err != nil {
				t.Errorf("CreateThread: %v", err)
			}
			ids <- thread.ID
		})
	}
	wg.Wait()
	first := <-ids
	for range cap(ids) - 1 {
		if id := <-ids; id != first {
			t.Errorf("threads %s and %s", id, first)
		}
	}
	if n := value[int](t, f, `SELECT count(*) FROM threads`); n != 1 {
		t.Errorf("%d threads", n)
	}
}

func TestThreadsAreListedByTouch(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var ids []uuid.UUID
	for range 5 {
		ids = append(ids, f.thread(t, f.ann).ID)
	}
	f.thread(t, f.bob)
	list := func(offset, limit int) (list []uuid.UUID) {
		got := must.Get(f.ListThreads(t.Context(), f.ann, chat.ThreadFilter{}, offset, limit))(t)
		for _, thread := range got {
			list = append(list, thread.ID)
		}
		return list
	}
	slices.Reverse(ids)
	if got := list(0, 100); !slices.Equal(got, ids) {
		t.Errorf("newest first: %v, want %v", got, ids)
	}
	touched, err := f.TouchThread(t.Context(), f.ann, ids[3])
	if err != nil || touched.ID != ids[3] || !touched.TouchedAt.After(touched.CreatedAt) {
		t.Errorf("TouchThread = %+v, %v", touched, err)
	}
	want := []uuid.UUID{ids[3], ids[0], ids[1], ids[2], ids[4]}
	if got := list(0, 2); !slices.Equal(got, want[:2]) {
		t.Errorf("first page: %v, want %v", got, want[:2])
	}
	if got := list(2, 100); !slices.Equal(got, want[2:]) {
		t.Errorf("the rest: %v, want %v", got, want[2:])
	}
	f.exec(t, `UPDATE threads SET touched_at = '2030-01-01'`)
	if got := list(0, 100); !slices.Equal(got, ids) {
		t.Errorf("all touched at once: %v, want by id, newest first, %v", got, ids)
	}
}

func TestPinnedAndArchivedThreads(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	old, pinned, archived, newest := f.thread(t, f.ann), f.thread(t, f.ann), f.thread(t, f.ann), f.thread(t, f.ann)
	changed := must.Get(f.EditThread(t.Context(), f.ann, pinned.ID, chat.ThreadEdit{Pinned: new(true)}))(t)
	if !changed.Pinned || changed.Archived || changed.Title != pinned.Title ||
		!changed.TouchedAt.Equal(pinned.TouchedAt) {
		t.Errorf("pinned: %+v", changed)
	}
	must.Get(f.EditThread(t.Context(), f.ann, archived.ID, chat.ThreadEdit{Archived: new(true)}))(t)
	listed := func(archived bool) (ids []uuid.UUID) {
		list := must.Get(f.ListThreads(t.Context(), f.ann, chat.ThreadFilter{Archived: archived}, 0, 10))(t)
		for _, thread := range list {
			ids = append(ids, thread.ID)
		}
		return ids
	}
	if got := listed(false); !slices.Equal(got, []uuid.UUID{pinned.ID, newest.ID, old.ID}) {
		t.Errorf("the list is %v", got)
	}
	if got := listed(true); !slices.Equal(got, []uuid.UUID{archived.ID}) {
		t.Errorf("archived are %v", got)
	}
	// A question in an archived thread unarchives it.
	begun := must.Get(f.BeginGeneration(t.Context(), question(f.ann, archived.ID, newID())))(t)
	if begun.Thread.Archived || len(listed(true)) != 0 || listed(false)[1] != archived.ID {
		t.Errorf("asked in: %+v", begun.Thread)
	}
}

// TestTitles: the first question is the provisional title. A generated title replaces it once, but not a title that the
// owner has set. The tokens of a generated title are always counted.
func TestTitles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := newID()
	named := func(text string) chat.Thread {
		t.Helper()
		thread := f.thread(t, f.ann)
		b := question(f.ann, thread.ID, server)
		b.Title = text
		begun := must.Get(f.BeginGeneration(t.Context(), b))(t)
		if !begun.Untitled || begun.Thread.Title != text || begun.Question.ThreadTitle != (chat.Title{}) {
			t.Errorf("begun: %+v", begun)
		}
		must.Succeed(t, f.end(t, outcome(f.ann, begun, server, "答え")))
		return begun.Thread
	}
	made := func(thread chat.Thread, text string) (chat.Thread, bool) {
		t.Helper()
		got, given, err := f.TitleThread(t.Context(), chat.GeneratedTitle{
			Owner: f.ann, ThreadID: thread.ID, Text: text, InputTokens: 100, OutputTokens: 5,
		})
		must.Succeed(t, err)
		return got, given
	}
	told := func(thread chat.Thread) chat.Title {
		t.Helper()
		list := must.Get(f.ListMessages(t.Context(), f.ann, thread.ID, nil, 0, 1))(t)
		return list[0].ThreadTitle
	}
	a, empty := named("質問です"), named("")
	if _, given := made(a, ""); given || told(a) != (chat.Title{}) {
		t.Errorf("no title was given: %v, %+v", given, told(a))
	}
	if got, given := made(a, "自動の題"); !given || got.Title != "自動の題" || !got.UpdatedAt.After(a.UpdatedAt) ||
		got.Running ||
		!reflect.DeepEqual(told(a), chat.Title{Text: "自動の題", UpdatedAt: got.UpdatedAt}) {
		t.Errorf("TitleThread = %+v, %v, notified as %+v", got, given, told(a))
	}
	if _, given := made(a, "二度目"); given {
		t.Error("a title is made twice")
	}
	if _, given := made(empty, "自動の題"); !given {
		t.Error("a question that no name could be made of has the thread without a title")
	}
	second := question(f.ann, a.ID, server)
	second.Title = "二つ目の質問です"
	begun, err := f.BeginGeneration(t.Context(), second)
	if err != nil || begun.Untitled || begun.Thread.Title != "自動の題" {
		t.Errorf("the second question: %+v, %v", begun, err)
	}
	given := named("人の題")
	must.Get(f.EditThread(t.Context(), f.ann, given.ID, chat.ThreadEdit{Title: new("人の題")}))(t)
	if _, replaced := made(given, "自動の題"); replaced || told(given).Text != "人の題" {
		t.Errorf("a title that the owner has set: %v, %+v", replaced, told(given))
	}
	if n := value[int](t, f, `SELECT sum(input_tokens) FROM usage_daily WHERE user_id = $1`,
		f.ann.UserID); n != 5*100+3*12 {
		t.Errorf("%d tokens are counted", n)
	}
}

func TestEditThread(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	a, b := f.thread(t, f.ann), f.thread(t, f.ann)
	renamed, err := f.EditThread(t.Context(), f.ann, a.ID, chat.ThreadEdit{Title: new("人の題")})
	if err != nil || renamed.Title != "人の題" || !renamed.UpdatedAt.After(renamed.CreatedAt) ||
		!renamed.TouchedAt.Equal(a.TouchedAt) {
		t.Errorf("EditThread = %+v, %v", renamed, err)
	}
	if list, err := f.ListThreads(t.Context(), f.ann, chat.ThreadFilter{}, 0, 10); err != nil || list[0].ID != b.ID {
		t.Errorf("renaming moved the thread: %+v, %v", list, err)
	}
	_, err = f.EditThread(t.Context(), f.ann, a.ID, chat.ThreadEdit{Title: new("\x00")})
	wantCode(t, err, fault.Invalid)
}

// TestR59_ForeignIsLikeMissing: records of a colleague and of another organization are treated as if they did not
// exist.
func TestR59_ForeignIsLikeMissing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	thread := f.thread(t, f.ann)
	begun := must.Get(f.BeginGeneration(t.Context(), question(f.ann, thread.ID, newID())))(t)
	// A forged owner: Ann's id with the other organization.
	forged := identity.Owner{OrganizationID: f.b, UserID: f.ann.UserID}
	for name, tt := range map[string]struct {
		owner           identity.Owner
		thread, message uuid.UUID
	}{
		"colleague":    {f.bob, thread.ID, begun.Answer.ID},
		"organization": {f.mallory, thread.ID, begun.Answer.ID},
		"forged":       {forged, thread.ID, begun.Answer.ID},
		"missing":      {f.ann, newID(), newID()},
	} {
		ctx := t.Context()
		calls := map[string]func() error{
			"FindThread": func() error { _, err := f.FindThread(ctx, tt.owner, tt.thread); return err },
			"EditThread": func() error {
				_, err := f.EditThread(ctx, tt.owner, tt.thread, chat.ThreadEdit{Title: new("x")})
				return err
			},
			"TouchThread":  func() error { _, err := f.TouchThread(ctx, tt.owner, tt.thread); return err },
			"DeleteThread": func() error { _, err := f.DeleteThread(ctx, tt.owner, tt.thread); return err },
			"ListMessages": func() error { _, err := f.ListMessages(ctx, tt.owner, tt.thread, nil, 0, 10); return err },
			"History": func() error {
				_, err := f.History(ctx, tt.owner, tt.thread, tt.message, chat.HistoryLimit{Messages: 10, Bytes: 1 << 20})
				return err
			},
			"Look": func() error {
				_, err := f.LoadThreadState(ctx, tt.owner, tt.thread, nil, newID(), [32]byte{},
					chat.HistoryLimit{Messages: 10, Bytes: 1 << 20})
				return err
			},
			"BeginGeneration": func() error {
				_, err := f.BeginGeneration(ctx, question(tt.owner, tt.thread, newID()))
				return err
			},
		}
		for call, do := range calls {
			if err := do(); !errors.Is(err, chat.ErrNoThread) {
				t.Errorf("%s: %s: %v, want ErrNoThread", name, call, err)
			}
		}
		made := chat.GeneratedTitle{Owner: tt.owner, ThreadID: tt.thread, Text: "x"}
		if _, given, err := f.TitleThread(ctx, made); given || err != nil {
			t.Errorf("%s: TitleThread: %v, %v", name, given, err)
		}
		calls = map[string]func() error{
			"FindMessage": func() error { _, err := f.FindMessage(ctx, tt.owner, tt.message); return err },
			"RequestStop": func() error { _, err := f.RequestStop(ctx, tt.owner, tt.message); return err },
			"GiveFeedback": func() error {
				return f.GiveFeedback(ctx, tt.owner, tt.message,
					chat.Feedback{Rating: chat.RatingGood})
			},
			"WithdrawFeedback": func() error { _, err := f.WithdrawFeedback(ctx, tt.owner, tt.message); return err },
		}
		for call, do := range calls {
			if err := do(); !errors.Is(err, chat.ErrNoMessage) {
				t.Errorf("%s: %s: %v, want ErrNoMessage", name, call, err)
			}
		}
	}
	if got, err := f.FindThread(t.Context(), f.ann, thread.ID); err != nil || got.Title != "" || !got.Running {
		t.Errorf("the thread afterwards: %+v, %v", got, err)
	}
	if list, err := f.ListThreads(t.Context(), f.mallory, chat.ThreadFilter{}, 0, 10); err != nil || len(list) != 0 {
		t.Errorf("a stranger's list: %+v, %v", list, err)
	}
}

func TestDeleteThreadDeletesItsContent(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	thread, other := f.thread(t, f.ann), f.thread(t, f.ann)
	server := newID()
	first := f.exchange(t, f.ann, thread.ID, server, "一", "壱")
	f.exchange(t, f.ann, thread.ID, server, "二", "弐")
	begun := must.Get(f.BeginGeneration(t.Context(), again(f.ann, first.Question, server)))(t)
	must.Succeed(t, f.GiveFeedback(t.Context(), f.ann, first.Answer.ID, chat.Feedback{Rating: chat.RatingBad}))
	f.exchange(t, f.ann, other.ID, server, "残る", "はい")

	deleted, err := f.DeleteThread(t.Context(), f.ann, thread.ID)
	if err != nil || deleted.Running == nil || *deleted.Running != begun.Answer.ID || deleted.UserID != f.ann.UserID {
		t.Errorf("DeleteThread = %+v, %v", deleted, err)
	}
	if err := f.end(t, outcome(f.ann, begun, server, "遅い")); !errors.Is(err, chat.ErrStaleRun) {
		t.Errorf("the end of a deleted generation: %v", err)
	}
	_, err = f.FindThread(t.Context(), f.ann, thread.ID)
	if !errors.Is(err, chat.ErrNoThread) {
		t.Errorf("FindThread: %v", err)
	}
	for table, want := range map[string]int{"messages": 2, "generations": 1, "message_feedback": 0, "threads": 1} {
		if n := value[int](t, f, `SELECT count(*) FROM `+table); n != want {
			t.Errorf("%d rows in %s, want %d", n, table, want)
		}
	}
	if deleted, err := f.DeleteThread(t.Context(), f.ann, other.ID); err != nil || deleted.Running != nil {
		t.Errorf("an idle thread: %+v, %v", deleted, err)
	}
}

func TestMessagesAndHistory(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	thread, server := f.thread(t, f.ann), newID()
	if list, err := f.ListMessages(t.Context(), f.ann, thread.ID, nil, 0, 10); err != nil || len(list) != 0 {
		t.Errorf("an empty thread: %+v, %v", list, err)
	}
	if list, err := f.History(t.Context(), f.ann, thread.ID, newID(),
		chat.HistoryLimit{Messages: 10, Bytes: 1 << 20}); err != nil || len(list) != 0 {
		t.Errorf("an empty history: %+v, %v", list, err)
	}
	var last chat.StoredGeneration
	for i := range 3 {
		last = f.exchange(t, f.ann, thread.ID, server, fmt.Sprintf("問%d", i), fmt.Sprintf("答%d", i))
	}
	f.exchange(t, f.ann, thread.ID, server, "問3", "") // An answer without text.
	again := question(f.ann, thread.ID, server)
	again.Question.Content, again.Question.ParentID = "問4", f.leaf(t, thread.ID)
	running := must.Get(f.BeginGeneration(t.Context(), again))(t)

	texts := func(list []chat.Message, err error) string {
		must.Succeed(t, err)
		var all []string
		for _, m := range list {
			all = append(all, m.Content)
		}
		return strings.Join(all, " ")
	}
	list := func(offset, limit int) string {
		return texts(f.ListMessages(t.Context(), f.ann, thread.ID, nil, offset, limit))
	}
	history := func(leaf uuid.UUID, limit int) string {
		return texts(f.History(t.Context(), f.ann, thread.ID, leaf, chat.HistoryLimit{Messages: limit, Bytes: 1 << 20}))
	}
	sized := func(bytes int) string {
		return texts(f.History(t.Context(), f.ann, thread.ID, running.Answer.ID,
			chat.HistoryLimit{Messages: 100, Bytes: bytes}))
	}
	size := value[int](t, f, `SELECT octet_length(coalesce(nullif(prompt, ''), content)) FROM messages
			WHERE content = '問3'`)
	for got, want := range map[string]string{
		list(0, 100):                             " 問4  問3 答2 問2 答1 問1 答0 問0",
		list(4, 3):                               "答2 問2 答1",
		list(10, 3):                              "",
		history(running.Answer.ID, 100):          "問0 答0 問1 答1 問2 答2 問3 問4",
		history(*running.Question.ParentID, 100): "問0 答0 問1 答1 問2 答2 問3",
		history(last.Question.ID, 3):             "問1 答1 問2",
		history(last.Answer.ID, 3):               "答1 問2 答2",
		history(newID(), 3):                      "",
		sized(2*size + len("答2")):                "答2 問3 問4",
		sized(2*size + len("答2") - 1):            "問3 問4",
		sized(size - 1):                          "",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestFeedback(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	thread, server := f.thread(t, f.ann), newID()
	begun := must.Get(f.BeginGeneration(t.Context(), question(f.ann, thread.ID, server)))(t)
	good := chat.Feedback{Rating: chat.RatingGood, Comment: "助かりました"}
	wantCode(t, f.GiveFeedback(t.Context(), f.ann, begun.Answer.ID, good), fault.Conflict)
	wantCode(t, f.GiveFeedback(t.Context(), f.ann, begun.Question.ID, good), fault.NotFound)
	must.Succeed(t, f.end(t, outcome(f.ann, begun, server, "答え")))
	for _, want := range []chat.Feedback{good, {Rating: chat.RatingBad, WithText: true}, {Rating: chat.RatingBad}} {
		must.Succeed(t, f.GiveFeedback(t.Context(), f.ann, begun.Answer.ID, want))
		got, err := f.FindMessage(t.Context(), f.ann, begun.Answer.ID)
		if err != nil || got.Feedback == nil || *got.Feedback != want {
			t.Errorf("feedback %+v, %v, want %+v", got.Feedback, err, want)
		}
	}
	if n := value[int](t, f, `SELECT count(*) FROM message_feedback`); n != 1 {
		t.Errorf("%d rows", n)
	}
	for _, want := range []bool{true, false} {
		if removed, err := f.WithdrawFeedback(t.Context(), f.ann, begun.Answer.ID); err != nil || removed != want {
			t.Errorf("withdrawn: %t, %v, want %t", removed, err, want)
		}
	}
	if m, err := f.FindMessage(t.Context(), f.ann, begun.Answer.ID); err != nil || m.Feedback != nil {
		t.Errorf("after the withdrawal: %+v, %v", m.Feedback, err)
	}
	if m, err := f.FindMessage(t.Context(), f.ann, begun.Question.ID); err != nil || m.Feedback != nil {
		t.Errorf("the question: %+v, %v", m, err)
	}
}

func TestThreadTimesAreUTCInstants(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	thread := f.thread(t, f.ann)
	if age := time.Since(thread.CreatedAt); age < -time.Minute || age > time.Minute {
		t.Errorf("created %s ago", age)
	}
}
