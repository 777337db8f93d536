package store_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestReviews: administrators see only those parts of a rating that its author shares, and nothing after the rating is
// deleted.
func TestReviews(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	rate := func(owner identity.Owner, skillID uuid.UUID, feedback chat.Feedback) (thread, answer uuid.UUID) {
		t.Helper()
		made := must.Get(f.CreateThread(t.Context(), owner, chat.NewThread{ID: newID(), SkillID: skillID}))(t)
		begun := f.exchange(t, owner, made.ID, newID(), "締め切りは", "**月末**です。")
		must.Succeed(t, f.GiveFeedback(t.Context(), owner, begun.Answer.ID, feedback))
		return made.ID, begun.Answer.ID
	}
	own := newID()
	f.exec(t, `
		INSERT INTO skills (id, organization_id, category_id, position, name, icon_path, form_type, prompt, origin,
		                    owner_id, audience)
		SELECT $1, $2, category_id, 1, '転職の相談', icon_path, 'chat', '助手です。', 'app', $3, 'self' FROM skills LIMIT 1`,
		own, f.a, f.ann.UserID)
	bad := chat.Feedback{Rating: chat.RatingBad, Comment: "ＦＡＱと違う"}
	_, plain := rate(f.ann, f.skills[0].ID, bad)
	sent := bad
	sent.WithText = true
	thread, full := rate(f.bob, f.skills[1].ID, sent)
	_, private := rate(f.ann, own, chat.Feedback{Rating: chat.RatingGood})
	_, old := rate(f.bob, f.skills[0].ID, bad)
	f.exec(t, `UPDATE message_feedback SET shows = 'rating' WHERE message_id = $1`, old)
	_, foreign := rate(f.mallory, f.skills[0].ID, sent)
	for i, id := range []uuid.UUID{plain, full, private, old} {
		f.exec(t, `UPDATE message_feedback SET updated_at = now() - $2 * interval '1 hour' WHERE message_id = $1`, id, 4-i)
	}
	list := func(q chat.ReviewQuery) (ids []uuid.UUID, total int) {
		t.Helper()
		q.Limit = 10
		reviews, total, err := f.ListReviews(t.Context(), f.a, q)
		must.Succeed(t, err)
		for _, r := range reviews {
			ids = append(ids, r.ID)
		}
		return ids, total
	}
	now, skillID := time.Now(), f.skills[0].ID
	for name, c := range map[string]struct {
		query chat.ReviewQuery
		want  []uuid.UUID
	}{
		"all":                  {chat.ReviewQuery{}, []uuid.UUID{old, private, full, plain}},
		"a rating":             {chat.ReviewQuery{Rating: chat.RatingGood}, []uuid.UUID{private}},
		"a skill":              {chat.ReviewQuery{SkillID: &skillID}, []uuid.UUID{old, plain}},
		"a skill of one's own": {chat.ReviewQuery{SkillID: &own}, nil},
		"words":                {chat.ReviewQuery{Search: "faqと"}, []uuid.UUID{full, plain}},
		"a time": {
			chat.ReviewQuery{From: now.Add(-210 * time.Minute), To: now.Add(-90 * time.Minute)},
			[]uuid.UUID{private, full},
		},
		"a page": {chat.ReviewQuery{Offset: 3}, []uuid.UUID{plain}},
	} {
		got, total := list(c.query)
		if total != len(c.want)+c.query.Offset || len(got) != len(c.want) {
			t.Errorf("%s: %v of %d, want %v", name, got, total, c.want)
			continue
		}
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("%s: %v, want %v", name, got, c.want)
			}
		}
	}
	find := func(id uuid.UUID) chat.ReviewText {
		t.Helper()
		r := must.Get(f.FindReview(t.Context(), f.a, id))(t)
		return r
	}
	if r := find(plain); r.Person != "" || r.Question != "" || r.Answer != "" || r.Comment != "ＦＡＱと違う" ||
		r.SkillName != "汎用チャット" || r.Model != "model-1" {
		t.Errorf("without its text: %+v", r)
	}
	if r := find(full); r.Person != "bob" || r.Question != "締め切りは" || r.Answer != "**月末**です。" || !r.WithText {
		t.Errorf("with its text: %+v", r)
	}
	if r := find(private); r.SkillID != nil || r.SkillName != "" {
		t.Errorf("of a skill of one's own: %+v", r)
	}
	if r := find(old); r.Comment != "" {
		t.Errorf("from before administrators saw comments: %+v", r)
	}
	for name, id := range map[string]uuid.UUID{"another organization's": foreign, "nobody's": newID()} {
		if _, err := f.FindReview(t.Context(), f.a, id); !errors.Is(err, chat.ErrNoMessage) {
			t.Errorf("%s: %v", name, err)
		}
	}
	counted, err := f.CountRatings(t.Context(), f.a, time.Time{}, time.Time{})
	if err != nil || len(counted) != 3 || counted[0] != (chat.SkillRatings{
		SkillID: counted[0].SkillID, SkillName: "汎用チャット", Bad: 2,
	}) || counted[1].SkillID != nil || counted[1].Good != 1 {
		t.Errorf("counted %+v, %v", counted, err)
	}
	if counted, err = f.CountRatings(t.Context(), f.a, now.Add(-150*time.Minute), now.Add(-90*time.Minute)); err != nil ||
		len(counted) != 1 || counted[0].Good != 1 {
		t.Errorf("counted in an hour: %+v, %v", counted, err)
	}
	f.goReviews(t, thread, plain, private)
}

// goReviews continues TestReviews: a thread is deleted, one expires, a rating is withdrawn, and Bob is removed.
func (f *fixture) goReviews(t *testing.T, deleted, withdrawn, expired uuid.UUID) {
	t.Helper()
	left := func(what string, want int) {
		t.Helper()
		if _, total, err := f.ListReviews(t.Context(), f.a, chat.ReviewQuery{Limit: 10}); err != nil || total != want {
			t.Errorf("%s: %d are left, %v, want %d", what, total, err, want)
		}
	}
	must.Get(f.DeleteThread(t.Context(), f.bob, deleted))(t)
	left("a deleted thread", 3)
	must.Get(f.WithdrawFeedback(t.Context(), f.ann, withdrawn))(t)
	left("a withdrawn rating", 2)
	f.exec(t, `UPDATE threads SET expires_at = now() - interval '1 s'
		WHERE id = (SELECT thread_id FROM messages WHERE id = $1)`, expired)
	left("a temporary thread", 1)
	f.exec(t, `DELETE FROM users WHERE id = $1`, f.bob.UserID)
	left("a person", 0)
}
