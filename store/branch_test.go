package store_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/migrations"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// tree is the expected state of a thread. Its messages are in the order of their insertion.
type tree struct {
	thread   uuid.UUID
	messages []chat.Message
}

func (tr *tree) find(id uuid.UUID) chat.Message {
	return tr.messages[slices.IndexFunc(tr.messages, func(m chat.Message) bool { return m.ID == id })]
}

// newestAfter returns the id of the newest message among a message and its descendants.
func (tr *tree) newestAfter(id uuid.UUID) uuid.UUID {
	after := map[uuid.UUID]bool{id: true}
	newest := id
	for _, m := range tr.messages {
		if m.ParentID != nil && after[*m.ParentID] {
			after[m.ID], newest = true, m.ID
		}
	}
	return newest
}

// branch returns the ids from a message up to the beginning of the thread.
func (tr *tree) branch(id uuid.UUID) []uuid.UUID {
	branch := []uuid.UUID{id}
	for parent := tr.find(id).ParentID; parent != nil; parent = tr.find(*parent).ParentID {
		branch = append(branch, *parent)
	}
	return branch
}

func (tr *tree) siblings(id uuid.UUID) []uuid.UUID {
	var all []uuid.UUID
	for _, m := range tr.messages {
		if reflect.DeepEqual(m.ParentID, tr.find(id).ParentID) {
			all = append(all, m.ID)
		}
	}
	return all
}

// TestBranchesOfRandomThreads grows random threads by asking at the end, editing questions and regenerating answers.
// After each step it checks that the store's siblings, branches, leaf and history agree with the parents of the
// messages.
func TestBranchesOfRandomThreads(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	seed := rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // No secret.
	defer func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	}()
	server := newID()
	for range 3 {
		tr := &tree{thread: f.thread(t, f.ann).ID}
		for step := range 25 {
			b := question(f.ann, tr.thread, server)
			b.Question.Content = fmt.Sprintf("問%d", step)
			var any chat.Message
			if len(tr.messages) > 0 {
				any = tr.messages[random.IntN(len(tr.messages))]
			}
			switch {
			case any.Role == chat.RoleUser && random.IntN(2) == 0: // Edit.
				b.Question.ParentID = any.ParentID
			case any.Role == chat.RoleUser: // Regenerate.
				b = again(f.ann, any, server)
			case any.Role == chat.RoleAssistant && random.IntN(3) == 0: // Anywhere.
				b.Question.ParentID = &any.ID
			default:
				b.Question.ParentID = f.leaf(t, tr.thread)
			}
			begun := f.answer(t, b, fmt.Sprintf("答%d", step))
			if !b.Regenerate {
				tr.messages = append(tr.messages, b.Question)
			}
			tr.messages = append(tr.messages, b.Answer)
			if got, want := begun.Question.Siblings, tr.siblings(begun.Question.ID); !b.Regenerate &&
				!slices.Equal(got, want) {
				t.Fatalf("the new question has siblings %v, want %v", got, want)
			}
			if got, want := begun.Answer.Siblings, tr.siblings(begun.Answer.ID); !slices.Equal(got, want) {
				t.Fatalf("the new answer has siblings %v, want %v", got, want)
			}
			f.checkBranch(t, tr, nil, b.Answer.ID)
			through := tr.messages[random.IntN(len(tr.messages))].ID
			f.checkBranch(t, tr, &through, tr.newestAfter(through))
			if random.IntN(3) == 0 {
				must.Get(f.EditThread(t.Context(), f.ann, tr.thread, chat.ThreadEdit{Leaf: &through}))(t)
				f.checkBranch(t, tr, nil, tr.newestAfter(through))
			}
		}
	}
}

// checkBranch reads the branch through a message page by page, and the history of the branch.
func (f *fixture) checkBranch(t *testing.T, tr *tree, through *uuid.UUID, end uuid.UUID) {
	t.Helper()
	want := tr.branch(end)
	var got []uuid.UUID
	for limit := 3; ; {
		page := must.Get(f.ListMessages(t.Context(), f.ann, tr.thread, through, len(got), limit))(t)
		for _, m := range page {
			got = append(got, m.ID)
			if known := tr.find(m.ID); !reflect.DeepEqual(m.ParentID, known.ParentID) || m.Role != known.Role {
				t.Fatalf("%s follows %v, want %v", m.ID, m.ParentID, known.ParentID)
			}
			if siblings := tr.siblings(m.ID); !slices.Equal(m.Siblings, siblings) ||
				!slices.Contains(m.Siblings, m.ID) {
				t.Fatalf("%s has siblings %v, want %v", m.ID, m.Siblings, siblings)
			}
		}
		if len(page) < limit {
			break
		}
	}
	if !slices.Equal(got, want) {
		t.Fatalf("the branch through %v is %v, want %v", through, got, want)
	}
	said := must.Get(f.History(t.Context(), f.ann, tr.thread, end, chat.HistoryLimit{Messages: 5, Bytes: 1 << 20}))(t)
	for i, m := range slices.Backward(said) {
		if want[len(said)-1-i] != m.ID {
			t.Fatalf("the history up to %s is %+v, want the end of %v", end, said, want)
		}
	}
	if len(said) != min(5, len(want)) {
		t.Fatalf("the history up to %[2]s has %[1]d messages, want %[3]d", len(said), end, min(5, len(want)))
	}
}

// TestR59_BranchesOfOthers: a message of another user or of another thread is treated as if it did not exist.
func TestR59_BranchesOfOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := newID()
	mine, other, bobs := f.thread(t, f.ann).ID, f.thread(t, f.ann).ID, f.thread(t, f.bob).ID
	f.exchange(t, f.ann, mine, server, "問", "答")
	for name, id := range map[string]uuid.UUID{
		"another thread's": f.exchange(t, f.ann, other, server, "別", "別").Answer.ID,
		"a colleague's":    f.exchange(t, f.bob, bobs, server, "別", "別").Answer.ID,
		"missing":          newID(),
	} {
		if _, err := f.ListMessages(t.Context(), f.ann, mine, &id, 0, 10); !errors.Is(err, chat.ErrNoMessage) {
			t.Errorf("%s: ListMessages: %v", name, err)
		}
		if _, err := f.EditThread(t.Context(), f.ann, mine, chat.ThreadEdit{
			Leaf:  &id,
			Title: new("x"),
		}); !errors.Is(err, chat.ErrNoMessage) {
			t.Errorf("%s: EditThread: %v", name, err)
		}
		limit := chat.HistoryLimit{Messages: 10, Bytes: 1 << 20}
		if _, err := f.LoadThreadState(t.Context(), f.ann, mine, &id, newID(), [32]byte{}, limit); !errors.Is(err,
			chat.ErrNoMessage) {
			t.Errorf("%s: Look: %v", name, err)
		}
		if said, err := f.History(t.Context(), f.ann, mine, id, limit); len(said) > 0 || err != nil {
			t.Errorf("%s: History: %v, %v", name, said, err)
		}
	}
	if thread, err := f.FindThread(t.Context(), f.ann, mine); err != nil || thread.Title == "x" {
		t.Errorf("the thread is now %+v, %v", thread, err)
	}
}

// TestOldThreadsBecomeChains migrates threads from the schema without branches, in which a regenerated answer referred
// to its replacement.
func TestOldThreadsBecomeChains(t *testing.T) {
	t.Parallel()
	f := &fixture{dsn: emptyDatabase(t)}
	f.connect(t)
	files, before := fstest.MapFS{}, fstest.MapFS{}
	names := must.Get(migrations.Files.ReadDir("."))(t)
	reached := false
	for _, name := range names {
		data := must.Get(migrations.Files.ReadFile(name.Name()))(t)
		files[name.Name()] = &fstest.MapFile{Data: data}
		if reached = reached || strings.HasSuffix(name.Name(), "_branches.sql"); !reached {
			before[name.Name()] = files[name.Name()]
		}
	}
	must.Succeed(t, f.MigrateFrom(t.Context(), before))
	f.ann = identity.Owner{OrganizationID: newID(), UserID: newID()}
	o, u, skill, thread, empty := f.ann.OrganizationID, f.ann.UserID, newID(), newID(), newID()
	f.exec(t, `INSERT INTO organizations (id, name, auth_type) VALUES ($1, '会社', 'cognito')`, o)
	f.exec(t, `INSERT INTO users (id, organization_id, subject, email, name, role, auth_type)
		VALUES ($1, $2, 's', 'a@example.com', 'a', 'general-user', 'cognito')`, u, o)
	f.exec(t, `INSERT INTO categories (id, name, position) VALUES ($1, 'c', 1)`, skill)
	f.exec(t, `INSERT INTO skills (id, category_id, position, name, description, icon_path, form_type, prompt)
		VALUES ($1, $1, 1, 's', '', '/x.svg', 'chat', '')`, skill)
	for _, id := range []uuid.UUID{thread, empty} {
		f.exec(t, `INSERT INTO threads (id, organization_id, user_id, skill_id) VALUES ($1, $2, $3, $4)`, id, o, u,
			skill)
	}
	q1, a1, a1b, q2, a2 := newID(), newID(), newID(), newID(), newID()
	for _, m := range []struct {
		id       uuid.UUID
		role     string
		question *uuid.UUID
		replaced *uuid.UUID
	}{
		{q1, "user", nil, nil},
		{a1, "assistant", &q1, &a1b},
		{a1b, "assistant", &q1, nil},
		{q2, "user", nil, nil},
		{a2, "assistant", &q2, nil},
	} {
		f.exec(t, `INSERT INTO messages (id, organization_id, thread_id, role, content, status,
				question_id, completed_at)
			VALUES ($1, $2, $3, $4, 'x', 'success', $5, now())`, m.id, o, thread, m.role, m.question)
		if m.id == a1b {
			f.exec(t, `UPDATE messages SET replaced_by = $2 WHERE id = $1`, a1, a1b)
		}
	}

	must.Succeed(t, f.MigrateFrom(t.Context(), files))
	for through, want := range map[uuid.UUID][]uuid.UUID{
		uuid.Nil: {a2, q2, a1b, q1}, q1: {a2, q2, a1b, q1}, a1: {a1, q1},
	} {
		leaf := &through
		if through == uuid.Nil {
			leaf = nil
		}
		list := must.Get(f.ListMessages(t.Context(), f.ann, thread, leaf, 0, 10))(t)
		var got []uuid.UUID
		for _, m := range list {
			got = append(got, m.ID)
			if m.ID == a1b && !slices.Equal(m.Siblings, []uuid.UUID{a1, a1b}) {
				t.Errorf("the newer answer has siblings %v", m.Siblings)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("through %v: %v, want %v", through, got, want)
		}
	}
	if list, err := f.ListMessages(t.Context(), f.ann, empty, nil, 0, 10); err != nil || len(list) != 0 {
		t.Errorf("an empty thread: %v, %v", list, err)
	}
}
