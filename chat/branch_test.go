package chat_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// asked sends a question, waits for its answer, and returns both with the messages that were sent to the model after
// its instructions.
func (f *fixture) asked(model *llmtest.Live, q chat.Question, answer string) (chat.Exchange, []string) {
	f.t.Helper()
	exchange := f.send(q)
	call := model.Next(f.t)
	call.Emit(answer)
	call.Finish()
	f.wait(exchange)
	return exchange, sentTo(call.Request)
}

func sentTo(r llm.Request) (said []string) {
	for _, m := range r.Messages[1:] {
		said = append(said, m.Content)
	}
	return said
}

func contents(messages []chat.Message) (said []string) {
	for _, m := range slices.Backward(messages) {
		said = append(said, m.Content)
	}
	return said
}

func newBranchFixture(t *testing.T) (*fixture, *llmtest.Live) {
	t.Helper()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	f.named()
	return f, model
}

// TestBranches edits a question, regenerates an answer in the middle, and continues each branch. The model receives
// only that branch, and the thread shows the branch of the last question.
func TestBranches(t *testing.T) {
	t.Parallel()
	f, model := newBranchFixture(t)
	again := func(q chat.Question) chat.Question {
		q.RequestID, q.ThreadID = newID(), f.thread.ID
		return q
	}
	first, _ := f.asked(model, f.question("問1"), "答1")
	second, _ := f.asked(model, f.question("問2"), "答2")

	edit := again(chat.Question{Content: "問2改", Edit: &second.Question.ID})
	edited, said := f.asked(model, edit, "答2改")
	if !slices.Equal(said, []string{"問1", "答1", "問2改"}) {
		t.Errorf("for an edited question the model is told %q", said)
	}
	if !slices.Equal(edited.Question.Siblings, []uuid.UUID{second.Question.ID, edited.Question.ID}) {
		t.Errorf("the edited question has siblings %v", edited.Question.Siblings)
	}
	if repeated := f.send(edit); repeated.Question.ID != edited.Question.ID || repeated.Answer.ID != edited.Answer.ID {
		t.Errorf("the same request is another question: %+v", repeated)
	}
	if _, said := f.asked(model, f.question("問3"), "答3"); !slices.Equal(said,
		[]string{"問1", "答1", "問2改", "答2改", "問3"}) {
		t.Errorf("after an edited question the model is told %q", said)
	}

	_, said = f.asked(model, again(chat.Question{Regenerate: &first.Answer.ID}), "答1改")
	if !slices.Equal(said, []string{"問1"}) {
		t.Errorf("for an answer in the middle the model is told %q", said)
	}
	if got := contents(f.messages()); !slices.Equal(got, []string{"問1", "答1改"}) {
		t.Errorf("the thread shows %q", got)
	}
	root, said := f.asked(model, again(chat.Question{Content: "問1改", Edit: &first.Question.ID}), "答")
	if !slices.Equal(said, []string{"問1改"}) || root.Question.ParentID != nil {
		t.Errorf("for the first question the model is told %q", said)
	}

	// Continues the first branch without showing it first.
	_, said = f.asked(model, again(chat.Question{Content: "続き", ParentID: &second.Answer.ID}), "はい")
	if !slices.Equal(said, []string{"問1", "答1", "問2", "答2", "続き"}) {
		t.Errorf("in the first branch the model is told %q", said)
	}
	if got := contents(f.messages()); !slices.Equal(got, []string{"問1", "答1", "問2", "答2", "続き", "はい"}) {
		t.Errorf("the thread shows %q", got)
	}
	if _, err := f.server.EditThread(t.Context(), f.owner, f.thread.ID,
		chat.ThreadEdit{Leaf: &edited.Question.ID}); err != nil {
		t.Fatal(err)
	}
	if got := contents(f.messages()); !slices.Equal(got, []string{"問1", "答1", "問2改", "答2改", "問3", "答3"}) {
		t.Errorf("the thread shows %q", got)
	}
}

// TestInvalidBranchesAreRefused edits messages that are not questions, are in another thread, or do not exist; repeats
// an edit; and edits while an answer is generated in another branch.
func TestInvalidBranchesAreRefused(t *testing.T) {
	t.Parallel()
	f, model := newBranchFixture(t)
	first, _ := f.asked(model, f.question("問"), "答")
	q, a, missing := first.Question.ID, first.Answer.ID, newID()
	elsewhere := f.newThread(chatSkill)
	for name, tt := range map[string]struct {
		question chat.Question
		want     error
	}{
		"edit an answer": {chat.Question{Content: "x", Edit: &a}, chat.ErrNoMessage},
		"edit nothing":   {chat.Question{Content: "x", Edit: &missing}, chat.ErrNoMessage},
		"edit in another thread": {
			chat.Question{ThreadID: elsewhere.ID, Content: "x", Edit: &q},
			chat.ErrNoMessage,
		},
		"regenerate a question": {chat.Question{Regenerate: &q}, chat.ErrNoMessage},
		"regenerate elsewhere":  {chat.Question{ThreadID: elsewhere.ID, Regenerate: &a}, chat.ErrNoMessage},
		"follow a question":     {chat.Question{Content: "x", ParentID: &q}, chat.ErrNoMessage},
		"follow in another thread": {
			chat.Question{ThreadID: elsewhere.ID, Content: "x", ParentID: &a},
			chat.ErrNoMessage,
		},
		"edit to nothing":     {chat.Question{Edit: &q}, fault.InvalidField("content", "")},
		"edit and regenerate": {chat.Question{Regenerate: &a, Edit: &q}, fault.InvalidField("edit", "")},
		"edit and follow": {
			chat.Question{Content: "x", ParentID: &a, Edit: &q},
			fault.InvalidField("parent_id", ""),
		},
		"regenerate and follow": {
			chat.Question{Regenerate: &a, ParentID: &a},
			fault.InvalidField("parent_id", ""),
		},
		"a form where there is none": {
			chat.Question{Form: map[string]string{"x": "y"}, Edit: &q},
			fault.InvalidField("form", ""),
		},
	} {
		tt.question.RequestID = newID()
		if tt.question.ThreadID == uuid.Nil {
			tt.question.ThreadID = f.thread.ID
		}
		_, err := f.server.Send(t.Context(), f.owner, tt.question)
		if !errors.Is(err, tt.want) && (fault.CodeOf(err) != fault.Invalid || fault.CodeOf(tt.want) != fault.Invalid) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}

	running := f.send(chat.Question{RequestID: newID(), ThreadID: f.thread.ID, Content: "問改", Edit: &q})
	call := model.Next(t)
	follow := f.question("続き")
	follow.ParentID = &a
	if _, err := f.server.Send(t.Context(), f.owner, follow); !errors.Is(err, chat.ErrThreadBusy) {
		t.Errorf("beside an answer in another branch: %v", err)
	}
	call.Emit("答改")
	call.Finish()
	f.wait(running)
	if got := contents(f.messages()); !slices.Equal(got, []string{"問改", "答改"}) {
		t.Errorf("the thread shows %q", got)
	}
}

// TestABranchIsTakenOver: the other server sends the model only the messages of the branch.
func TestABranchIsTakenOver(t *testing.T) {
	t.Parallel()
	f, model := newBranchFixture(t)
	first, _ := f.asked(model, f.question("問1"), "答1")
	f.asked(model, f.question("問2"), "答2")
	slow := f.start(model, f.db, mute())
	edited := f.sendTo(slow, chat.Question{
		RequestID: newID(), ThreadID: f.thread.ID, Content: "問2改", ParentID: &first.Answer.ID,
	})
	model.Next(t)
	next := llmtest.NewLive()
	f.start(next, f.db, chat.Config{Alone: true})
	if said := sentTo(next.Next(t).Request); !slices.Equal(said, []string{"問1", "答1", "問2改"}) {
		t.Errorf("the model is told %q", said)
	}
	slow.kill()
	if len(edited.Question.Siblings) != 2 {
		t.Errorf("the question has siblings %v", edited.Question.Siblings)
	}
}

// TestTheValuesOfAFormAreKept: the form can be opened again with its values.
func TestTheValuesOfAFormAreKept(t *testing.T) {
	t.Parallel()
	f, model := newBranchFixture(t)
	f.thread = f.newThread(formSkill)
	f.named()
	form := map[string]string{"text": "おはようございます。"}
	for _, field := range formSkill.FormFields {
		if len(field.Options) > 0 {
			form[field.Name] = field.Options[0]
		}
	}
	first, _ := f.asked(model, chat.Question{RequestID: newID(), ThreadID: f.thread.ID, Form: form}, "Good morning.")
	again := maps.Clone(form)
	again["text"] = "こんばんは。"
	f.asked(model, chat.Question{RequestID: newID(), ThreadID: f.thread.ID, Form: again, Edit: &first.Question.ID},
		"Good evening.")
	messages := f.messages()
	if len(messages) != 2 || !maps.Equal(messages[1].Form, again) || messages[0].Form != nil {
		t.Errorf("the thread has %+v", messages)
	}
	if old, err := f.db.FindMessage(t.Context(), f.owner, first.Question.ID); err != nil ||
		!maps.Equal(old.Form, form) {
		t.Errorf("the old question has the values %v, %v", old.Form, err)
	}
}

// TestEditedQuestionIsTheTitle: the edited question is the title until a title is generated.
func TestEditedQuestionIsTheTitle(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	model, _ := f.titling(llmtest.Say("答え"), chat.Config{})
	first := f.wait(f.send(f.question("はじめの質問")))
	model.next(t) // Its title is pending.
	edited := f.wait(f.send(chat.Question{
		RequestID: newID(), ThreadID: f.thread.ID, Content: "別の質問", Edit: &first.Question.ID,
	}))
	if title := f.title(); title != "別の質問" {
		t.Errorf("the thread is called %q", title)
	}
	model.next(t)
	f.wait(f.send(chat.Question{RequestID: newID(), ThreadID: f.thread.ID, Regenerate: &edited.Answer.ID}))
	if title := f.title(); title != "別の質問" {
		t.Errorf("after its answer was asked again the thread is called %q", title)
	}
}
