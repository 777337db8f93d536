package chat_test

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// groundedInSources grounds an answer on a cited passage of each data source, and on another passage of the last one.
func groundedInSources(_ context.Context, req *chat.AnswerRequest, _ func(chat.Step)) (chat.Grounds, error) {
	grounds := chat.Grounds{Prompt: req.Prompt}
	ids := req.Question.DataSourceIDs
	for i, id := range append(ids[:len(ids):len(ids)], ids[len(ids)-1]) {
		grounds.Sources = append(grounds.Sources, chat.Source{
			Citation: chat.Citation{
				Index: i + 1, ChunkEmbeddingID: newID(), DataSourceID: id, Filename: "極秘の規程.pdf", Page: 3, Score: 1,
			},
			Text: "年次有給休暇は10日とする。",
		})
	}
	return grounds, nil
}

func TestADeletedFileLeavesNothingInAnswersAndShares(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.grounded(llmtest.Say("有給休暇は10日です[1]。年次有給休暇は10日です[2]。"), grounder(groundedInSources))
	ids := f.dataSources(f.owner, 2)
	asked := f.question("何日ですか")
	asked.DataSourceIDs = ids
	exchange := f.wait(f.send(asked))
	if n := len(exchange.Answer.Citations); n != 3 {
		t.Fatalf("%d citations", n)
	}
	actor := identity.Actor{User: identity.User{ID: f.owner.UserID, OrganizationID: f.owner.OrganizationID}}
	sharer := chat.NewSharer(f.db, nil)
	share := must.Get(sharer.Share(t.Context(), actor, f.thread.ID, exchange.Answer.ID))(t)
	must.Succeed(t, f.db.DeleteSource(t.Context(), f.owner, ids[1]))
	answer := must.Get(f.server.FindMessage(t.Context(), f.owner, exchange.Answer.ID))(t)
	shared, err := sharer.Messages(t.Context(), actor, share.ID, 0, 10)
	if err != nil || len(shared) != 2 {
		t.Fatalf("%d shared messages, %v", len(shared), err)
	}
	deleted := chat.Citation{Index: 2, Filename: "削除されました", Support: "strong", Deleted: true}
	want := []chat.Citation{exchange.Answer.Citations[0], deleted}
	for place, got := range map[string][]chat.Citation{"answer": answer.Citations, "share": shared[1].Citations} {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: citations %+v, want %+v", place, got, want)
		}
	}
	one := must.Get(json.Marshal(deleted))(t)
	if live := f.follow(f.server, answer.ID, ""); !strings.Contains(live, string(one)) {
		t.Errorf("the stream has no %s:\n%s", one, live)
	}
}

// TestAFileDeletedWhileItsAnswerIsWrittenLeavesNoQuote: neither the stored answer nor the end of its stream has a
// quote.
func TestAFileDeletedWhileItsAnswerIsWrittenLeavesNoQuote(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, nil)
	f.grounded(model, grounder(groundedInSources))
	ids := f.dataSources(f.owner, 2)
	asked := f.question("何日ですか")
	asked.DataSourceIDs = ids
	exchange := f.send(asked)
	call := model.Next(t)
	call.Emit("有給休暇は10日です[1]。年次有給休暇は10日です[2]。")
	must.Succeed(t, f.db.DeleteSource(t.Context(), f.owner, ids[1]))
	call.Finish()
	answer := f.wait(exchange).Answer
	want := []chat.Citation{
		answer.Citations[0], {Index: 2, Filename: "削除されました", Support: "strong", Deleted: true},
	}
	if want[0].DataSourceID != ids[0] || want[0].Quote == "" || !reflect.DeepEqual(answer.Citations, want) {
		t.Errorf("stored %+v", answer.Citations)
	}
	one := must.Get(json.Marshal(want[1]))(t)
	if live := f.follow(f.server, answer.ID, ""); !strings.Contains(live, string(one)) {
		t.Errorf("the stream has no %s:\n%s", one, live)
	}
}

func TestQuestionAboutDeletedDocumentsIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	f.grounded(llmtest.Say("10日です[1]。"), grounder(groundedInSources))
	f.thread = f.newThread(skillOfTask(t, skill.TaskDocumentQA))
	ids := f.dataSources(f.owner, 2)
	first := f.question("何日ですか")
	first.DataSourceIDs = ids[:1]
	exchange := f.wait(f.send(first))
	must.Succeed(t, f.db.DeleteSource(t.Context(), f.owner, ids[0]))
	edited, none := f.question("何日？"), f.question("では、何日前までに申請しますか")
	edited.Edit, none.DataSourceIDs = &exchange.Question.ID, []uuid.UUID{}
	for name, q := range map[string]chat.Question{
		"a further question": f.question("では、何日前までに申請しますか"), "an edited question": edited, "without files": none,
	} {
		_, err := f.server.Send(t.Context(), f.owner, q)
		if fault.CodeOf(err) != chat.SourcesDeleted || !strings.Contains(fault.DetailOf(err), "削除されています") {
			t.Errorf("%s: %v", name, err)
		}
	}
	again := f.question("こちらのファイルでは？")
	again.DataSourceIDs = ids[1:]
	if got := f.wait(f.send(again)).Answer; got.Status != chat.StatusSuccess {
		t.Errorf("with another file: %+v", got)
	}
}

// skillOfTask returns a built-in skill with a task type.
func skillOfTask(t *testing.T, task skill.TaskType) skill.Skill {
	t.Helper()
	_, skills, err := skill.Builtin()
	must.Succeed(t, err)
	i := slices.IndexFunc(skills, func(s skill.Skill) bool { return s.TaskType == task })
	if i < 0 {
		t.Fatalf("no skill of the task %s", task)
	}
	return skills[i]
}
