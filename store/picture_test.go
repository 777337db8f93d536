package store_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/picture"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func newPicture() picture.Picture {
	return picture.Picture{
		ID: newID(), Width: 40, Height: 30, MediaType: "image/png", Size: 900, ThumbnailSize: 100,
	}
}

// picture stores a picture with a new file.
func (f *fixture) picture(t *testing.T, owner identity.Owner) picture.Picture {
	t.Helper()
	p := newPicture()
	must.Succeed(t, f.MarkOrphan(t.Context(), p.ID, time.Hour))
	stored, created, err := f.CreatePicture(t.Context(), owner, uuid.Nil, nil, p, 1<<40)
	must.Succeed(t, err)
	if !created || stored != p {
		t.Fatalf("stored %+v of %+v", stored, p)
	}
	return stored
}

// asked stores a question with pictures, and its answer, in a thread.
func (f *fixture) asked(
	t *testing.T, owner identity.Owner, threadID uuid.UUID, pictures ...picture.Picture,
) chat.StoredGeneration {
	t.Helper()
	b := question(owner, threadID, newID())
	b.Question.Pictures = pictures
	begun := must.Get(f.BeginGeneration(t.Context(), b))(t)
	must.Get(f.EndGeneration(t.Context(), outcome(owner, begun, b.ServerID, "見ました。")))(t)
	return begun
}

func (f *fixture) orphans(t *testing.T) []uuid.UUID {
	t.Helper()
	orphans := must.Get(f.ListOrphans(t.Context(), uuid.Nil))(t)
	return orphans
}

func TestQuestionsKeepTheirPicturesInOrder(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	thread := f.thread(t, f.ann)
	first, second := f.picture(t, f.ann), f.picture(t, f.ann)
	want := []picture.Picture{second, first}
	begun := f.asked(t, f.ann, thread.ID, want...)
	question := must.Get(f.FindMessage(t.Context(), f.ann, begun.Question.ID))(t)
	history, err := f.History(t.Context(), f.ann, thread.ID, begun.Answer.ID, chat.HistoryLimit{Messages: 10, Bytes: 1 << 20})
	must.Succeed(t, err)
	listed := must.Get(f.ListMessages(t.Context(), f.ann, thread.ID, nil, 0, 10))(t)
	looked := must.Get(f.LoadThreadState(t.Context(), f.ann, thread.ID, nil, newID(), [32]byte{},
		chat.HistoryLimit{Messages: 10, Bytes: 1 << 20}))(t)
	opening := must.Get(f.Opening(t.Context(), f.ann, thread.ID, begun.Answer.ID))(t)
	for where, got := range map[string]chat.Message{
		"found": question, "history": history[0], "listed": listed[1], "looked": looked.History[0], "opening": opening[0],
	} {
		if !slices.Equal(got.Pictures, want) {
			t.Errorf("%s: %+v, want %+v", where, got.Pictures, want)
		}
	}
	if listed[0].Pictures != nil {
		t.Errorf("the answer has %+v", listed[0].Pictures)
	}
	share := must.Get(f.PutShare(t.Context(), f.ann, chat.Snapshot{
		ShareID: newID(), ThreadID: thread.ID, Leaf: begun.Answer.ID,
	}, org.System()))(t)
	shared := must.Get(f.SharedMessages(t.Context(), f.ann, share.ID, 0, 10))(t)
	if shared[0].PictureCount != 2 || shared[0].Pictures != nil || shared[1].PictureCount != 0 {
		t.Errorf("shared %+v", shared)
	}
	copied, _, err := f.CopyShare(t.Context(), f.bob, share.ID, chat.NewThread{ID: newID()})
	must.Succeed(t, err)
	messages := must.Get(f.ListMessages(t.Context(), f.bob, copied.ID, nil, 0, 10))(t)
	for _, m := range messages {
		if m.Pictures != nil {
			t.Errorf("the copy has %+v", m.Pictures)
		}
	}
}

// TestR98_PicturesGoWithTheirLastQuestion: a picture and its file are deleted with the last question that contains the
// picture, however that question is deleted.
func TestR98_PicturesGoWithTheirLastQuestion(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	one, other := f.thread(t, f.ann), f.thread(t, f.ann)
	both, only := f.picture(t, f.ann), f.picture(t, f.ann)
	f.asked(t, f.ann, one.ID, both, only)
	f.asked(t, f.ann, one.ID, both)
	f.asked(t, f.ann, other.ID, both)
	wantCode(t, f.DeletePicture(t.Context(), f.ann, only.ID), fault.Conflict)
	_, err := f.DeleteThread(t.Context(), f.ann, one.ID)
	must.Succeed(t, err)
	if got := f.orphans(t); !slices.Equal(got, []uuid.UUID{only.ID}) {
		t.Errorf("orphans %v, want %v", got, only.ID)
	}
	f.exec(t, `UPDATE threads SET expires_at = now() WHERE id = $1`, other.ID)
	must.Get(f.DeleteExpired(t.Context(), 10))(t)
	if got := f.orphans(t); !slices.Contains(got, both.ID) {
		t.Errorf("orphans %v, want %v too", got, both.ID)
	}

	asked, unasked := f.picture(t, f.bob), f.picture(t, f.bob)
	f.asked(t, f.bob, f.thread(t, f.bob).ID, asked)
	_, err = f.ChangeMember(t.Context(), f.a, f.bob.UserID, org.System(), func(org.MemberContext) (org.MemberChange, error) {
		return org.MemberChange{Remove: true, Action: org.ActionRemove, Details: []org.Change{{Field: "name"}}}, nil
	})
	must.Succeed(t, err)
	if got := f.orphans(t); !slices.Contains(got, asked.ID) || !slices.Contains(got, unasked.ID) {
		t.Errorf("orphans %v, want those of the removed member", got)
	}
	if n := value[int](t, f, `SELECT count(*) FROM pictures`); n != 0 {
		t.Errorf("%d pictures are left", n)
	}
}

func TestPicturesWithoutQuestionsAreRemovedInTime(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	fresh, old, asked := f.picture(t, f.ann), f.picture(t, f.ann), f.picture(t, f.ann)
	f.asked(t, f.ann, f.thread(t, f.ann).ID, asked)
	f.exec(t, `UPDATE pictures SET created_at = now() - interval '25 hours' WHERE id <> $1`, fresh.ID)
	n, err := f.DeleteUnused(t.Context(), 24*time.Hour, 10)
	if err != nil || n != 1 || !slices.Equal(f.orphans(t), []uuid.UUID{old.ID}) {
		t.Errorf("%d were removed, orphans %v, %v", n, f.orphans(t), err)
	}
}

// TestR98_OthersPicturesDoNotExist: a user cannot find, delete or use a picture of a colleague or of another
// organization.
func TestR98_OthersPicturesDoNotExist(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.picture(t, f.ann)
	for _, other := range []identity.Owner{f.bob, f.mallory, {OrganizationID: f.b, UserID: f.ann.UserID}} {
		_, err := f.FindPictures(t.Context(), other, []uuid.UUID{p.ID})
		wantCode(t, err, fault.NotFound)
		wantCode(t, f.DeletePicture(t.Context(), other, p.ID), fault.NotFound)
	}
	_, err := f.FindPictures(t.Context(), f.ann, []uuid.UUID{p.ID, newID()})
	wantCode(t, err, fault.NotFound)
	b := question(f.mallory, f.thread(t, f.mallory).ID, newID())
	b.Question.Pictures = []picture.Picture{p}
	_, err = f.BeginGeneration(t.Context(), b)
	wantCode(t, err, fault.NotFound)
	b = question(f.bob, f.thread(t, f.bob).ID, newID())
	b.Question.Pictures = []picture.Picture{p}
	_, err = f.BeginGeneration(t.Context(), b)
	wantCode(t, err, fault.NotFound)
}

func TestPictureThatIsDeletedMeanwhileIsNotAsked(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	p := f.picture(t, f.ann)
	must.Succeed(t, f.DeletePicture(t.Context(), f.ann, p.ID))
	b := question(f.ann, f.thread(t, f.ann).ID, newID())
	b.Question.Pictures = []picture.Picture{p}
	_, err := f.BeginGeneration(t.Context(), b)
	wantCode(t, err, fault.NotFound)
	if n := value[int](t, f, `SELECT count(*) FROM messages`); n != 0 {
		t.Errorf("%d messages were stored", n)
	}
}

func TestRepeatedUploadIsOnePicture(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	request := newID()
	var wait sync.WaitGroup
	stored := make([]picture.Picture, 4)
	for i := range stored {
		wait.Go(func() {
			p := newPicture()
			err := f.MarkOrphan(t.Context(), p.ID, time.Hour)
			if err == nil {
				stored[i], _, err = f.CreatePicture(t.Context(), f.ann, uuid.Nil, &request, p, 1<<40)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if n := value[int](t, f, `SELECT count(*) FROM pictures`); n != 1 || stored[0] != stored[3] {
		t.Errorf("%d pictures, %+v", n, stored)
	}
	if got := f.orphans(t); len(got) != 3 || slices.Contains(got, stored[0].ID) {
		t.Errorf("orphans %v", got)
	}
}

func TestPicturesCountAsFiles(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	owner := f.ann
	f.picture(t, f.ann)
	f.source(t, f.ann, "本文")
	used, err := f.StorageUsed(t.Context(), f.ann)
	if err != nil || used != 1000+int64(len("本文")) {
		t.Errorf("%d bytes are used, %v", used, err)
	}
	p := newPicture()
	must.Succeed(t, f.MarkOrphan(t.Context(), p.ID, time.Hour))
	_, _, err = f.CreatePicture(t.Context(), owner, uuid.Nil, nil, p, used+999)
	wantCode(t, err, fault.StorageLimit)
	f.exec(t, `UPDATE contracts SET storage = $2 WHERE organization_id = $1`, f.a, used+999)
	_, _, err = f.CreatePicture(t.Context(), owner, uuid.Nil, nil, p, 1<<40)
	wantCode(t, err, fault.StorageLimit)
	f.exec(t, `UPDATE contracts SET storage = $2 WHERE organization_id = $1`, f.a, used+1000)
	_, _, err = f.CreatePicture(t.Context(), owner, uuid.Nil, nil, p, 1<<40)
	must.Succeed(t, err)
	f.exec(t, `UPDATE users SET state = 'inactive' WHERE id = $1`, f.ann.UserID)
	_, _, err = f.CreatePicture(t.Context(), owner, uuid.Nil, nil, newPicture(), 1<<40)
	wantCode(t, err, identity.ErrNoUser.Code)
}
