package chat_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/picture"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// album is chat.Pictures on the fixture's database. The data of a picture is its id.
type album struct{ *fixture }

func (a album) Find(ctx context.Context, owner identity.Owner, ids []uuid.UUID) ([]picture.Picture, error) {
	return a.db.FindPictures(ctx, owner, ids)
}

func (a album) Load(ctx context.Context, owner identity.Owner, id uuid.UUID) ([]byte, error) {
	_, err := a.db.FindPictures(ctx, owner, []uuid.UUID{id})
	return []byte(id.String()), err
}

// seeing returns the needs of a server whose model reads pictures.
func seeing(f *fixture, model llm.Model) chat.Deps {
	return chat.Deps{
		Model: model, Pictures: album{f}, Offers: llmtest.Offers{{ID: "test", Name: "検査用モデル", Sees: true}},
	}
}

// pictures stores pictures of a person and returns their ids.
func (f *fixture) pictures(owner identity.Owner, n int) []uuid.UUID {
	f.t.Helper()
	ids := make([]uuid.UUID, n)
	for i := range ids {
		ids[i] = newID()
		p := picture.Picture{ID: ids[i], Width: 40, Height: 30, MediaType: "image/png", Size: 1, ThumbnailSize: 1}
		err := f.db.MarkOrphan(f.t.Context(), p.ID, time.Hour)
		if err == nil {
			_, _, err = f.db.CreatePicture(f.t.Context(), owner, uuid.Nil, nil, p, 1<<40)
		}
		must.Succeed(f.t, err)
	}
	return ids
}

// newSeeing returns a fixture whose model reads pictures and records its input.
func newSeeing(t *testing.T) (f *fixture, sent func() []llm.Message) {
	t.Helper()
	requests := make(chan llm.Request, 20)
	model := llmtest.Func(func(_ context.Context, req llm.Request, emit func(string)) (llm.Result, error) {
		if !llmtest.IsTitle(req.Messages) {
			requests <- req
		}
		emit("見えます。")
		return llm.Result{FinishReason: llm.FinishStop}, nil
	})
	f = newFixture(t, model)
	f.server.kill()
	f.server = f.startWith(seeing(f, model), chat.Config{})
	f.named()
	return f, func() []llm.Message { return (<-requests).Messages }
}

func idsOf(pictures []picture.Picture) []uuid.UUID {
	var ids []uuid.UUID
	for _, p := range pictures {
		ids = append(ids, p.ID)
	}
	return ids
}

// shown returns the ids of the pictures whose data is in a message.
func shown(m llm.Message) []uuid.UUID {
	var ids []uuid.UUID
	for _, p := range m.Pictures {
		ids = append(ids, uuid.MustParse(string(p.Data)))
	}
	return ids
}

func TestModelIsShownThePictures(t *testing.T) {
	t.Parallel()
	f, sent := newSeeing(t)
	ids := f.pictures(f.owner, 2)
	q := f.question("二つの違いは？")
	q.PictureIDs = ids
	first := f.wait(f.send(q))
	if got := sent()[1]; got.Content != "二つの違いは？" || !slices.Equal(shown(got), ids) {
		t.Errorf("the model is sent %+v", got)
	}
	if got := idsOf(first.Question.Pictures); !slices.Equal(got, ids) {
		t.Errorf("the question has %v", got)
	}
	f.wait(f.send(f.question("では、色は？")))
	if got := sent(); !slices.Equal(shown(got[1]), ids) || got[3].Pictures != nil {
		t.Errorf("later the model is sent %+v", got)
	}

	again := f.question("")
	again.Regenerate = &first.Answer.ID
	f.wait(f.send(again))
	if got := sent(); len(got) != 2 || !slices.Equal(shown(got[1]), ids) {
		t.Errorf("asked again, the model is sent %+v", got)
	}

	for name, c := range map[string]struct{ given, want []uuid.UUID }{
		"kept": {nil, ids}, "changed": {ids[1:], ids[1:]}, "removed": {[]uuid.UUID{}, nil},
	} {
		edited := f.question("三つ目は？")
		edited.Edit, edited.PictureIDs = &first.Question.ID, c.given
		exchange := f.wait(f.send(edited))
		stored, err := f.server.FindMessage(t.Context(), f.owner, exchange.Question.ID)
		if err != nil || !slices.Equal(idsOf(stored.Pictures), c.want) || !slices.Equal(shown(sent()[1]), c.want) {
			t.Errorf("%s: %+v, %v", name, stored.Pictures, err)
		}
	}
}

// TestOnlyTheNewestPicturesAreShown: the model receives as many pictures as one question may have, and a note for each
// of the others.
func TestOnlyTheNewestPicturesAreShown(t *testing.T) {
	t.Parallel()
	f, sent := newSeeing(t)
	first, second := f.pictures(f.owner, 4), f.pictures(f.owner, 8)
	q := f.question("一つ目")
	q.PictureIDs = first
	f.wait(f.send(q))
	sent()
	q = f.question("二つ目")
	q.PictureIDs = second
	f.wait(f.send(q))
	got := sent()
	if !slices.Equal(shown(got[3]), second) || !slices.Equal(shown(got[1]), first[:2]) ||
		got[1].Content != "一つ目\n（画像）（画像）" || got[3].Content != "二つ目" {
		t.Errorf("the model is sent %+v", got)
	}
}

// TestR98_NextRunIsShownTheSamePictures: a server that takes over an answer sends the model the same pictures as the
// first server.
func TestR98_NextRunIsShownTheSamePictures(t *testing.T) {
	t.Parallel()
	before, after := llmtest.NewLive(), llmtest.NewLive()
	f := newFixture(t, llmtest.Say("はい"))
	f.named()
	f.server.kill()
	first := f.startWith(seeing(f, before), chat.Config{})
	ids := f.pictures(f.owner, 2)
	q := f.question("何が写っていますか")
	q.PictureIDs = ids
	exchange := f.sendTo(first, q)
	was := before.Next(t).Request.Messages[1]
	first.kill()
	second := f.startWith(seeing(f, after), chat.Config{Alone: true})
	call := after.Next(t)
	if got := call.Request.Messages[1]; !slices.Equal(shown(got), ids) || !slices.Equal(shown(was), ids) {
		t.Errorf("the next run sends %+v, the first %+v", got, was)
	}
	call.Emit("猫")
	call.Finish()
	if got := f.waitAt(second, exchange).Answer; got.Run != 2 || got.Content != "猫" {
		t.Errorf("%+v", got)
	}
}

func TestRefusedPictures(t *testing.T) {
	t.Parallel()
	f, _ := newSeeing(t)
	blind := f.startWith(chat.Deps{Pictures: album{f}}, chat.Config{})
	own, others := f.pictures(f.owner, 11), f.pictures(f.colleague(f.owner.OrganizationID), 1)
	answered := f.wait(f.send(f.question("はじめに")))
	for name, c := range map[string]struct {
		server *server
		change func(*chat.Question)
		code   fault.Code
		field  string
	}{
		"too many":        {f.server, func(q *chat.Question) { q.PictureIDs = own }, fault.Invalid, "picture_ids"},
		"somebody else's": {f.server, func(q *chat.Question) { q.PictureIDs = others }, fault.NotFound, ""},
		"no model that sees": {
			blind, func(q *chat.Question) { q.PictureIDs = own[:1] }, chat.PicturesNotAccepted, "picture_ids",
		},
		"nothing asked": {
			f.server, func(q *chat.Question) { q.PictureIDs, q.Content = own[:1], " " }, fault.Invalid, "content",
		},
		"a text to proofread": {f.server, func(q *chat.Question) {
			*q = f.form("明日の会議に行ます。")
			q.ThreadID, q.PictureIDs = f.newThread(proofreader(t)).ID, own[:1]
		}, chat.PicturesNotAccepted, "picture_ids"},
		"asked again": {f.server, func(q *chat.Question) {
			q.PictureIDs, q.Content, q.Regenerate = own[:1], "", &answered.Answer.ID
		}, fault.Invalid, "picture_ids"},
	} {
		q := f.question("これは何ですか")
		c.change(&q)
		_, err := c.server.Send(t.Context(), f.owner, q)
		if fault.CodeOf(err) != c.code || c.field != "" && fault.FieldsOf(err)[0].Field != c.field {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestModelWithoutPicturesReceivesNotes: the model receives a note for pictures of questions to an earlier
// model.
func TestModelWithoutPicturesReceivesNotes(t *testing.T) {
	t.Parallel()
	f, sent := newSeeing(t)
	q := f.question("一つ目")
	q.PictureIDs = f.pictures(f.owner, 1)
	f.wait(f.send(q))
	sent()
	live := llmtest.NewLive()
	blind := f.startWith(chat.Deps{Model: live, Pictures: album{f}}, chat.Config{})
	f.sendTo(blind, f.question("二つ目"))
	if got := live.Next(t).Request.Messages[1]; got.Content != "一つ目\n（画像）" || len(got.Pictures) != 0 {
		t.Errorf("the model is sent %+v", got)
	}
}

func TestRepeatedQuestionWithOtherPicturesIsAConflict(t *testing.T) {
	t.Parallel()
	f, _ := newSeeing(t)
	ids := f.pictures(f.owner, 2)
	q := f.question("何ですか")
	q.PictureIDs = ids
	first := f.wait(f.send(q))
	if again := f.send(q); again.Answer.ID != first.Answer.ID || !slices.Equal(idsOf(again.Question.Pictures), ids) {
		t.Errorf("repeated: %+v", again.Question)
	}
	q.PictureIDs = ids[:1]
	if _, err := f.server.Send(t.Context(), f.owner, q); fault.CodeOf(err) != fault.RequestConflict {
		t.Errorf("with other pictures: %v", err)
	}
}
