package store_test

import (
	"errors"
	"reflect"
	"sync"
	"testing"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// first returns the first question of a new thread, as it is asked by what CreateThread has answered alone.
func (f *fixture) first(t *testing.T, owner chat.Owner) chat.Begin {
	t.Helper()
	created, err := f.CreateThread(t.Context(), owner, chat.NewThread{ID: newID(), SkillID: f.skills[0].ID})
	must(t, err)
	b := question(owner, created.ID, newID())
	b.First = &created.Looked.Version
	return b
}

// TestNewThreadIsLookedAt: what CreateThread says of a thread is what Look says of it.
func TestNewThreadIsLookedAt(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	request := newID()
	made := chat.NewThread{ID: newID(), SkillID: f.skills[0].ID, RequestID: &request}
	created, err := f.CreateThread(t.Context(), f.ann, made)
	must(t, err)
	looked, err := f.Look(t.Context(), f.ann, created.ID, newID(), [32]byte{}, chat.Limit{Messages: 10, Bytes: 1 << 20})
	must(t, err)
	if !reflect.DeepEqual(created.Looked, looked) || looked.Version == 0 || looked.Skill.ID != f.skills[0].ID {
		t.Errorf("made: %+v, looked at: %+v", created.Looked, looked)
	}
	made.ID = newID()
	if created, err = f.CreateThread(t.Context(), f.ann, made); err != nil || !reflect.DeepEqual(created.Looked, chat.Looked{}) {
		t.Errorf("of a thread that was there: %+v, %v", created.Looked, err)
	}
}

// TestFirstQuestionOfWhatIsOutdated: a first question is stored only into an empty thread of the same person, with the skill as
// it was when the thread was made.
func TestFirstQuestionOfWhatIsOutdated(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for name, outdate := range map[string]func(t *testing.T, b *chat.Begin){
		"something was said": func(t *testing.T, b *chat.Begin) {
			t.Helper()
			f.exchange(t, b.Owner, b.ThreadID, newID(), "先の質問", "答え")
		},
		"something is being said": func(t *testing.T, b *chat.Begin) {
			t.Helper()
			_, err := f.BeginGeneration(t.Context(), question(b.Owner, b.ThreadID, newID()))
			must(t, err)
		},
		"the request is known": func(t *testing.T, b *chat.Begin) {
			t.Helper()
			known := question(b.Owner, f.thread(t, b.Owner).ID, newID())
			known.RequestID = b.RequestID
			_, err := f.BeginGeneration(t.Context(), known)
			must(t, err)
		},
		"the skill was changed": func(t *testing.T, _ *chat.Begin) {
			t.Helper()
			changed := f.skills[0]
			changed.Prompt += "一文で答えてください。"
			must(t, f.SaveBuiltinSkills(t.Context(), f.cats, append([]skill.Skill{changed}, f.skills[1:]...)))
		},
		"the thread was deleted": func(t *testing.T, b *chat.Begin) {
			t.Helper()
			_, err := f.DeleteThread(t.Context(), b.Owner, b.ThreadID)
			must(t, err)
		},
		"a colleague's": func(_ *testing.T, b *chat.Begin) { b.Owner = f.bob },
	} {
		b := f.first(t, f.ann)
		outdate(t, &b)
		before := value[int](t, f, `SELECT count(*) FROM messages`)
		if begun, err := f.BeginGeneration(t.Context(), b); !errors.Is(err, chat.ErrOutdated) {
			t.Errorf("%s: %+v, %v", name, begun, err)
		}
		if after := value[int](t, f, `SELECT count(*) FROM messages`); after != before {
			t.Errorf("%s: %d messages, %d before", name, after, before)
		}
	}
	b := f.first(t, f.ann)
	begun, err := f.BeginGeneration(t.Context(), b)
	must(t, err)
	if begun.Question.ID != b.QuestionID || begun.Answer.ID != b.AnswerID || begun.Thread.ID != b.ThreadID || !begun.Thread.Running {
		t.Errorf("begun: %+v", begun)
	}
}

// TestR32_OneFirstQuestion: of several questions in a new thread at the same time, by what was remembered or by what was read, one
// is stored, and nothing is left of the others.
func TestR32_OneFirstQuestion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for range 10 {
		b := f.first(t, f.ann)
		start, results := make(chan struct{}), make(chan error, 8)
		var wg sync.WaitGroup
		for i := range cap(results) {
			wg.Go(func() {
				try := b
				try.RequestID, try.QuestionID, try.AnswerID = newID(), newID(), newID()
				if i%2 == 0 {
					try.First = nil
				}
				<-start
				_, err := f.BeginGeneration(t.Context(), try)
				results <- err
			})
		}
		close(start)
		wg.Wait()
		close(results)
		won := 0
		for err := range results {
			if err == nil {
				won++
			} else if !errors.Is(err, chat.ErrOutdated) && !errors.Is(err, chat.ErrThreadBusy) {
				t.Errorf("one of several: %v", err)
			}
		}
		if said := value[int](t, f, `SELECT count(*) FROM messages WHERE thread_id = $1`, b.ThreadID); won != 1 || said != 2 {
			t.Errorf("%d won, %d messages", won, said)
		}
	}
}
