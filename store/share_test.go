package store_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// put shares Ann's thread up to a message.
func (f *fixture) put(t *testing.T, threadID, leaf uuid.UUID) chat.Share {
	t.Helper()
	share, err := f.PutShare(t.Context(), f.ann, chat.Snapshot{ShareID: uuid.New(), ThreadID: threadID, Leaf: leaf},
		org.System())
	must.Succeed(t, err)
	return share
}

func (f *fixture) shared(t *testing.T, share chat.Share) (texts []string) {
	t.Helper()
	messages := must.Get(f.SharedMessages(t.Context(), f.ann, share.ID, 0, 100))(t)
	for _, m := range messages {
		texts = append(texts, m.Content)
	}
	return texts
}

// TestShareKeepsTheBranchOfItsMoment: a share still shows an answer that was regenerated after sharing.
func TestShareKeepsTheBranchOfItsMoment(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	thread, ids := f.addThread(t, f.ann, "題", "一", "壱", "二", "弐")
	share := f.put(t, thread, ids[1])
	if got := f.shared(t, share); !slices.Equal(got, []string{"一", "壱"}) {
		t.Errorf("up to the first answer it shows %q", got)
	}
	whole := f.put(t, thread, ids[3])
	again := newID()
	f.exec(t, `INSERT INTO messages (id, organization_id, thread_id, role, content, status, parent_id, completed_at)
		VALUES ($1, $2, $3, 'assistant', '二度目', 'success', $4, now())`, again, f.a, thread, ids[2])
	if got := f.shared(t, whole); whole.ID != share.ID || !slices.Equal(got, []string{"一", "壱", "二", "弐"}) {
		t.Errorf("once the answer was asked again it shows %q", got)
	}
	if got := f.shared(t, f.put(t, thread, ids[3])); !slices.Equal(got, []string{"一", "壱", "二", "弐"}) {
		t.Errorf("shared with the earlier answer it shows %q", got)
	}
	if got := f.shared(t, f.put(t, thread, again)); !slices.Equal(got, []string{"一", "壱", "二", "二度目"}) {
		t.Errorf("shared with the new answer it shows %q", got)
	}
}

func TestShareRefuses(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	thread, ids := f.addThread(t, f.ann, "題", "一", "壱", "二")
	_, others := f.addThread(t, f.ann, "別", "三", "参")
	running := newID()
	f.exec(t, `INSERT INTO messages (id, organization_id, thread_id, role, status, parent_id)
		VALUES ($1, $2, $3, 'assistant', 'running', $4)`, running, f.a, thread, ids[2])
	temporary := must.Get(f.CreateThread(t.Context(), f.ann, chat.NewThread{
		ID: newID(), SkillID: f.skills[0].ID,
		Lifetime: time.Hour,
	}))(t)
	for name, c := range map[string]struct {
		owner        identity.Owner
		thread, leaf uuid.UUID
		code         fault.Code
	}{
		"a colleague's":       {f.bob, thread, ids[1], fault.NotFound},
		"a stranger's":        {f.mallory, thread, ids[1], fault.NotFound},
		"of another thread":   {f.ann, thread, others[1], fault.NotFound},
		"a question":          {f.ann, thread, ids[0], fault.NotFound},
		"a running answer":    {f.ann, thread, running, fault.Conflict},
		"a temporary thread":  {f.ann, temporary.ID, ids[1], fault.Conflict},
		"what does not exist": {f.ann, thread, newID(), fault.NotFound},
	} {
		_, err := f.PutShare(t.Context(), c.owner, chat.Snapshot{ShareID: uuid.New(), ThreadID: c.thread, Leaf: c.leaf},
			org.System())
		if fault.CodeOf(err) != c.code {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := value[int](t, f, `SELECT count(*) FROM shares`); n != 0 {
		t.Errorf("%d shares", n)
	}
}

// TestCopyOfAShareHasItsMessages: a copy has the messages of the share without prompts, reasoning and quotes.
func TestCopyOfAShareHasItsMessages(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	thread, ids := f.addThread(t, f.ann, "題", "一", "壱", "二", "弐")
	f.exec(t, `UPDATE messages SET prompt = '秘密のページ', reasoning = '考え',
			citations = '[{"index": 1, "quote": "秘密"}]', input_tokens = 9
		WHERE thread_id = $1`, thread)
	share := f.put(t, thread, ids[3])
	request := newID()
	var copies []uuid.UUID
	for range 2 { // The second call finds the copy.
		copied, created, err := f.CopyShare(t.Context(), f.bob, share.ID,
			chat.NewThread{ID: newID(), RequestID: &request})
		must.Succeed(t, err)
		if created != (len(copies) == 0) || copied.Title != "題" || copied.SkillID != share.SkillID {
			t.Errorf("the copy is %+v, created %v", copied, created)
		}
		copies = append(copies, copied.ID)
	}
	if copies[0] != copies[1] {
		t.Errorf("the same request made %v", copies)
	}
	got, err := f.ListMessages(t.Context(), f.bob, copies[0], nil, 0, 100)
	must.Succeed(t, err)
	for i, text := range []string{"弐", "二", "壱", "一"} {
		m := got[i]
		if m.Content != text || m.Prompt != "" || m.Reasoning != "" || len(m.Citations) != 0 || m.InputTokens != 0 ||
			slices.Contains(ids, m.ID) {
			t.Errorf("message %d is %+v", i, m)
		}
	}
	for i, m := range got[:3] {
		if m.ParentID == nil || *m.ParentID != got[i+1].ID {
			t.Errorf("message %d follows %v", i, m.ParentID)
		}
	}
	if n := len(f.search(t, f.bob, "壱")); n != 1 {
		t.Errorf("the copy is found %d times", n)
	}
	must.Succeed(t, f.SaveBuiltinSkills(t.Context(), f.cats, f.skills[1:])) // The skill is retired.
	_, _, err = f.CopyShare(t.Context(), f.bob, share.ID, chat.NewThread{ID: newID()})
	wantCode(t, err, fault.NotFound)
}

func TestShareEndsWithItsThreadAndItsOwner(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(f *fixture, thread uuid.UUID) error{
		"thread": func(f *fixture, thread uuid.UUID) error {
			_, err := f.DeleteThread(t.Context(), f.ann, thread)
			return err
		},
		"owner": func(f *fixture, _ uuid.UUID) error {
			_, err := f.ChangeMember(t.Context(), f.a, f.ann.UserID, org.System(),
				func(org.MemberContext) (org.MemberChange, error) {
					return org.MemberChange{
							Remove: true, Action: org.ActionRemove,
							Details: []org.Change{{Field: "name"}},
						},
						nil
				})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t)
			thread, ids := f.addThread(t, f.ann, "題", "一", "壱")
			share := f.put(t, thread, ids[1])
			must.Succeed(t, end(f, thread))
			_, err := f.FindShare(t.Context(), f.a, share.ID)
			wantCode(t, err, fault.NotFound)
		})
	}
}

// TestShareOfAThreadThatItsOwnerCannotOpen: the link to a private thread of a project returns not found while the owner
// of the thread has no role in the project, and while the project is deleted.
func TestShareOfAThreadThatItsOwnerCannotOpen(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	id := f.project(t, f.ann, nil)
	thread, ids := f.addThread(t, f.ann, "題", "一", "壱")
	f.exec(t, `UPDATE threads SET project_id = $2 WHERE id = $1`, thread, id)
	share := f.put(t, thread, ids[1])
	for _, step := range []struct {
		name, sql string
		usable    bool
	}{
		{"in a project", `SELECT $1::uuid`, true},
		{"left", `UPDATE project_grants SET user_id = '` + f.bob.UserID.String() + `' WHERE project_id = $1`, false},
		{"joined", `UPDATE project_grants SET user_id = '` + f.ann.UserID.String() + `' WHERE project_id = $1`, true},
		{"deleted", `UPDATE projects SET deleted_at = now() WHERE id = $1`, false},
		{"restored", `UPDATE projects SET deleted_at = NULL WHERE id = $1`, true},
	} {
		f.exec(t, step.sql, id)
		code, total := fault.Code(""), 1
		if !step.usable {
			code, total = fault.NotFound, 0
		}
		_, err := f.FindShare(t.Context(), f.a, share.ID)
		_, errMessages := f.SharedMessages(t.Context(), f.bob, share.ID, 0, 100)
		_, _, errCopy := f.CopyShare(t.Context(), f.bob, share.ID, chat.NewThread{ID: newID()})
		for _, err := range []error{err, errMessages, errCopy} {
			if fault.CodeOf(err) != code {
				t.Errorf("%s: %v, want %q", step.name, err, code)
			}
		}
		for _, userID := range []*uuid.UUID{nil, &f.ann.UserID} {
			list, n, err := f.ListShares(t.Context(), f.a, userID, nil, 0, 10)
			if err != nil || len(list) != total || n != total {
				t.Errorf("%s: %d of %d shares listed, %v, want %d", step.name, len(list), n, err, total)
			}
		}
	}
}

// TestTemporaryThreadsExpire: an expired thread is deleted with its messages. Temporary threads are never indexed.
func TestTemporaryThreadsExpire(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	var threads []uuid.UUID
	for i := range 3 {
		thread, ids := f.addThread(t, f.ann, fmt.Sprint("題", i), "問い")
		threads = append(threads, thread)
		if i == 2 {
			continue
		}
		f.exec(t, `DELETE FROM messages WHERE id = $1`, ids[0])
		f.exec(t, `DELETE FROM search_pending WHERE thread_id = $1`, thread)
		f.exec(t, `UPDATE threads SET expires_at = now() + make_interval(mins => $2) WHERE id = $1`, thread, 2*i-1)
		f.exec(t, `UPDATE threads SET title = '新' WHERE id = $1`, thread)
		f.exec(t, `INSERT INTO messages (id, organization_id, thread_id, role, content, status, completed_at)
			VALUES ($1, $2, $3, 'user', '問い', 'success', now())`, ids[0], f.a, thread)
	}
	if n := value[int](t, f, `SELECT count(*) FROM search_pending WHERE thread_id = ANY ($1)`, threads[:2]); n != 0 {
		t.Errorf("%d of their texts wait to be indexed", n)
	}
	expired := must.Get(f.DeleteExpired(t.Context(), 100))(t)
	if len(expired) != 1 || expired[0].ThreadID != threads[0] || expired[0].Owner != f.ann ||
		expired[0].Running != nil {
		t.Errorf("expired are %+v, want %v", expired, threads[0])
	}
	if n := value[int](t, f, `SELECT count(*) FROM messages`); n != 2 {
		t.Errorf("%d messages are left", n)
	}
}
