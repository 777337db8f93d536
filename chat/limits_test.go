package chat_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/tally"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// askElsewhere asks in a new thread.
func (f *fixture) askElsewhere(s *server, owner identity.Owner) (chat.Exchange, error) {
	f.t.Helper()
	thread := must.Get(s.CreateThread(f.t.Context(), owner, chat.NewThread{SkillID: chatSkill.ID, Title: "題"}))(f.t)
	return s.Send(f.t.Context(), owner, chat.Question{RequestID: newID(), ThreadID: thread.ID, Content: "はい"})
}

func wantRefusal(t *testing.T, err error, code fault.Code) {
	t.Helper()
	after := fault.RetryAfterOf(err)
	if fault.CodeOf(err) != code || after < 2*time.Second || after > 10*time.Second {
		t.Errorf("got %v, to come back after %v", err, after)
	}
}

// starts records which answers have changed to running.
type starts struct {
	recordedEvents
	ids chan uuid.UUID
}

func (s *starts) MessageChanged(_ chat.Readers, m chat.Message) {
	if m.Status == chat.StatusRunning {
		s.ids <- m.ID
	}
}

func (s *starts) await(t *testing.T, id uuid.UUID) {
	t.Helper()
	for {
		select {
		case started := <-s.ids:
			if started == id {
				return
			}
		case <-time.After(time.Minute):
			t.Fatal("nobody was told that the answer is written")
		}
	}
}

// TestQuestionsWaitForAPlace: a server generates two answers at once. The next questions are stored and wait, with
// subscribers, and further ones are refused.
func TestQuestionsWaitForAPlace(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	model := llmtest.NewLive()
	events := &starts{ids: make(chan uuid.UUID, 10)}
	s := f.startWith(chat.Deps{Store: f.db, Model: model, Events: events}, chat.Config{MaxGenerations: 2})
	people := []identity.Owner{f.owner, f.member(), f.member()}
	ask := func(i int) chat.Exchange {
		exchange := must.Get(f.askElsewhere(s, people[i]))(t)
		return exchange
	}
	ask(0)
	first := model.Next(t)
	ask(0)
	model.Next(t)
	waiting := ask(0)
	if attachment, err := s.Attach(t.Context(), f.owner, waiting.Answer.ID); err != nil || attachment.Text == nil {
		t.Errorf("a question that waits cannot be followed: %+v, %v", attachment, err)
	}
	_, err := f.askElsewhere(s, people[0])
	wantRefusal(t, err, fault.RateLimited) // More than a quarter of the queue.
	status := func() chat.Status {
		message := must.Get(f.db.FindMessage(t.Context(), f.owner, waiting.Answer.ID))(t)
		return message.Status
	}
	if got := status(); got != chat.StatusPending {
		t.Errorf("an answer that waits is %s", got)
	}
	gone := ask(1)
	_, err = f.askElsewhere(s, people[2])
	wantRefusal(t, err, fault.Unavailable)
	if stats := s.Stats(); stats != (chat.Stats{Running: 2, Waiting: 2}) {
		t.Errorf("got %+v", stats)
	}

	// A generation that is stopped while it waits releases its slot.
	must.Succeed(t, s.StopMessage(t.Context(), people[1], gone.Answer.ID))
	if got, err := s.WaitFor(t.Context(), people[1], gone); err != nil ||
		got.Answer.FinishReason != chat.FinishStopped || got.Answer.Content != "" {
		t.Errorf("stored %+v, %v", got.Answer, err)
	}
	first.Finish()
	next := model.Next(t) // The slot of the first one.
	events.await(t, waiting.Answer.ID)
	if got := status(); got != chat.StatusRunning {
		t.Errorf("an answer that has its place is %s", got)
	}
	next.Emit("お待たせしました。")
	next.Finish()
	if got, err := s.WaitFor(t.Context(), f.owner, waiting); err != nil || got.Answer.Content != "お待たせしました。" {
		t.Errorf("stored %+v, %v", got.Answer, err)
	}
}

// TestWaitingQuestionsSurviveTheirServer: a waiting question is taken over.
func TestWaitingQuestionsSurviveTheirServer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	model := llmtest.NewLive()
	s := f.start(model, f.db, chat.Config{MaxGenerations: 1})
	if _, err := f.askElsewhere(s, f.owner); err != nil {
		t.Fatal(err)
	}
	model.Next(t)
	waiting := must.Get(f.askElsewhere(s, f.owner))(t)
	s.kill()
	next := f.start(llmtest.Say("引き継ぎ"), f.db, chat.Config{Sweep: time.Millisecond, Patience: 20 * time.Millisecond})
	if got, err := next.WaitFor(t.Context(), f.owner, waiting); err != nil || got.Answer.Content != "引き継ぎ" {
		t.Errorf("stored %+v, %v", got.Answer, err)
	}
}

func TestOnePersonHasSoManyAnswersAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	model := llmtest.NewLive()
	s := f.start(model, f.db, chat.Config{MaxPerPerson: 1})
	exchange, err := f.askElsewhere(s, f.owner)
	must.Succeed(t, err)
	_, err = f.askElsewhere(s, f.owner)
	wantRefusal(t, err, fault.RateLimited)
	call := model.Next(t)
	call.Finish()
	if _, err := s.WaitFor(t.Context(), f.owner, exchange); err != nil {
		t.Fatal(err)
	}
	if _, err := f.askElsewhere(s, f.member()); err != nil { // A person of another organization.
		t.Error(err)
	}
}

func TestFullTextMemoryRefusesQuestions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	model := llmtest.NewLive()
	s := f.start(model, f.db, chat.Config{MaxLiveText: 64 << 10, Sweep: time.Millisecond, MaxPerPerson: 1000})
	if _, err := f.askElsewhere(s, f.owner); err != nil {
		t.Fatal(err)
	}
	call := model.Next(t)
	for range 64 {
		call.Emit(
			"とても長い回答の一部を、何度も繰り返して書きます。とても長い回答の一部を、何度も繰り返して書きます。とても長い回答の一部を、何度も繰り返して書きます。とても長い回答の一部を、何度も繰り返して書きます。" +
				"とても長い回答の一部を、何度も繰り返して書きます。",
		)
	}
	for range 1000 { // Until the next sweep measures the texts.
		if _, err := f.askElsewhere(s, f.owner); err != nil {
			wantRefusal(t, err, fault.Unavailable)
			return
		}
	}
	t.Error("nothing is refused")
}

func TestOneOrganizationHasSoManyAnswersAtOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	model := llmtest.NewLive()
	s := f.start(model, f.db, chat.Config{MaxPerOrganization: 1})
	exchange, err := f.askElsewhere(s, f.owner)
	must.Succeed(t, err)
	colleague := f.colleague(f.owner.OrganizationID)
	_, err = f.askElsewhere(s, colleague)
	wantRefusal(t, err, fault.RateLimited)
	must.Succeed(t, s.StopMessage(t.Context(), f.owner, exchange.Answer.ID))
	if _, err := s.WaitFor(t.Context(), f.owner, exchange); err != nil {
		t.Fatal(err)
	}
	if _, err := f.askElsewhere(s, f.member()); err != nil { // A person of another organization.
		t.Error(err)
	}
}

// sharedLevels returns the levels of two servers.
func sharedLevels(t *testing.T) (own, other *tally.Level) {
	t.Helper()
	feed := must.Get(stream.NewFeed(nil))(t)
	server := func() *tally.Level {
		counts := tally.New(feed, slog.New(slog.DiscardHandler))
		level := counts.Level("generation")
		counts.Start()
		t.Cleanup(counts.Stop)
		return level
	}
	return server(), server()
}

// TestGenerationsOfOtherServersCount: generations on other servers count for the limits of a person and an organization.
func TestGenerationsOfOtherServersCount(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		person, organization int // On other servers.
		code                 fault.Code
	}{
		"below the limits":      {1, 3, ""},
		"of the person":         {2, 2, fault.RateLimited},
		"of the organization":   {0, 4, fault.RateLimited},
		"above, after takeover": {5, 9, fault.RateLimited},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, nil)
			person, organization := f.owner.UserID.String(), f.owner.OrganizationID.String()
			own, other := sharedLevels(t)
			other.Set(person, test.person)
			other.Set(organization, test.organization)
			must.Become(t, "the other server's numbers arrive", func() bool {
				return own.Others(person) == test.person && own.Others(organization) == test.organization
			})
			model := llmtest.NewLive()
			s := f.startWith(chat.Deps{Model: model, Generations: own},
				chat.Config{MaxPerPerson: 2, MaxPerOrganization: 4})
			exchange, err := f.askElsewhere(s, f.owner)
			if test.code != "" {
				wantRefusal(t, err, test.code)
				return
			}
			must.Succeed(t, err)
			call := model.Next(t)
			must.Become(t, "the generation is reported", func() bool {
				return other.Others(person) == 1 && other.Others(organization) == 1
			})
			call.Finish()
			f.waitAt(s, exchange)
			s.Stop(t.Context())
			must.Become(t, "its end is reported", func() bool {
				return other.Others(person) == 0 && other.Others(organization) == 0
			})
		})
	}
}
