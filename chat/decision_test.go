package chat_test

import (
	"reflect"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/proofread"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// decisionEvents records the decisions in a server's events.
type decisionEvents struct {
	recordedEvents
	decided chan proofread.Decisions
}

func (e *decisionEvents) MessageChanged(_ chat.Readers, m chat.Message) {
	if m.Decisions != nil {
		e.decided <- *m.Decisions
	}
}

func TestDecisionsArePublishedAndDeletedWithTheThread(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newProofreading(t, model)
	events := &decisionEvents{decided: make(chan proofread.Decisions, 10)}
	f.server = f.startWith(chat.Deps{Model: model, Events: events}, chat.Config{})
	exchange := f.send(f.form("会議に行ます。資料をを送ります。"))
	decided := proofread.Decisions{Accepted: []int{1}, Refused: []int{2}}
	call := model.Next(t)
	if err := f.server.Decide(t.Context(), f.owner, exchange.Answer.ID, decided); fault.CodeOf(err) != fault.Conflict {
		t.Errorf("while it is written: error %v", err)
	}
	call.Emit(proposals("行ます", "行きます", "資料をを", "資料を"))
	call.Finish()
	f.wait(exchange)
	if err := f.server.Decide(t.Context(), f.member(), exchange.Answer.ID, decided); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("a stranger: error %v", err)
	}
	must.Succeed(t, f.server.Decide(t.Context(), f.owner, exchange.Answer.ID, decided))
	if told := <-events.decided; !reflect.DeepEqual(told, decided) {
		t.Errorf("told %+v", told)
	}
	m, err := f.server.FindProofreading(t.Context(), f.owner, exchange.Answer.ID)
	if err != nil || !reflect.DeepEqual(m.Decisions, &decided) {
		t.Errorf("%+v and error %v", m.Decisions, err)
	}
	must.Succeed(t, f.server.DeleteThread(t.Context(), f.owner, f.thread.ID))
	if err := f.server.Decide(t.Context(), f.owner, exchange.Answer.ID, decided); fault.CodeOf(err) != fault.NotFound {
		t.Errorf("of a deleted thread: error %v", err)
	}
}

func (*decisionEvents) MessageDeleted(chat.Readers, uuid.UUID, uuid.UUID) {}
