package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// TestProofread: the changes of a text are in the stream and in the record of the answer; a share contains its
// Markdown.
func TestProofread(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say(`{"changes":[{"before":"行ます","after":"行きます","kind":"typo","reason":"送り仮名"},`,
		`{"before":"120名","after":"120名","kind":"fact","reason":"人数の確認"},{"before":"無い","after":"ない"}]}`))
	i := slices.IndexFunc(f.skills, func(s skill.Skill) bool { return s.Kind == skill.KindProofreading })
	thread := get[api.Thread](f, http.StatusCreated, call{
		method: "POST", path: "/v1/thread", token: f.alice.Subject, body: map[string]any{"skill_id": f.skills[i].ID},
	})
	ask := call{method: "POST", path: "/v1/message/stream", token: f.alice.Subject, body: map[string]any{
		"request_id": newID(), "thread_id": thread.ID, "form": map[string]string{
			"text": "🧵の会議に行ます。\r\n参加者は120名です。", "level": "誤字脱字と文法だけ", "style": "元の文体のまま",
		},
	}}
	events := f.open(ask).all(t) // Each chunk conforms to the contract.
	for kind, want := range map[string]int{"data-proofread-text": 1, "data-change": 2, "data-proofread": 1} {
		if n := len(slices.DeleteFunc(slices.Clone(events.types), func(s string) bool { return s != kind })); n != want {
			t.Errorf("%d chunks of the type %s in %v", n, kind, events.types)
		}
	}
	list := get[api.MessageList](f, http.StatusOK, call{
		method: "GET", path: "/v1/message?thread_id=" + thread.ID.String(), token: f.alice.Subject,
	})
	answer := list.Items[0]
	got, _ := json.Marshal(answer.Proofread)
	if want := `{"changes":[` +
		`{"after":"行き","before":"行","end":7,"id":1,"kind":"typo","reason":"送り仮名","start":6},` +
		`{"after":"120名","before":"120名","end":19,"id":2,"kind":"fact","question":true,"reason":"人数の確認","start":15}],` +
		`"dropped":1,"text":"🧵の会議に行ます。\n参加者は120名です。"}`; string(got) != want {
		t.Errorf("stored %s", got)
	}
	if question, _ := json.Marshal(list.Items[1]); strings.Contains(string(question), `"proofread"`) {
		t.Errorf("the question is %s", question)
	}
	share := get[api.Share](f, http.StatusOK, call{
		method: "PUT", path: "/v1/thread/" + thread.ID.String() + "/share", token: f.alice.Subject,
		body: map[string]any{"leaf": answer.ID},
	})
	shared := get[api.SharedMessageList](f, http.StatusOK, call{
		method: "GET", path: "/v1/share/" + share.ID.String() + "/message", token: f.alice.Subject,
	})
	if last := shared.Items[len(shared.Items)-1]; last.Content != answer.Content || events.text != answer.Content {
		t.Errorf("shared %+v", last)
	}
}
