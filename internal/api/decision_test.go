package api_test

import (
	"mime"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/redline"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

const (
	proofreadText = "👪平素より格別のご高配を賜わり、御礼申し上げます。\n資料をを送りますので、ご覧下さい。\n会議は十二月三日です。"

	// Changes 1 to 3 and a question.
	proofreadAnswer = `{"changes":[
{"context":"","before":"賜わり","after":"賜り","kind":"typo","reason":"送り仮名の決まりです。","question":false},
{"context":"","before":"資料をを","after":"資料を","kind":"typo","reason":"","question":false},
{"context":"","before":"ご覧下さい","after":"ご覧ください","kind":"variation","reason":"補助動詞です。","question":false},
{"context":"","before":"十二月三日","after":"十二月四日","kind":"fact","reason":"曜日と合いません。","question":true}]}`
)

// proofreading returns a proofreading answer of Alice with its thread.
func (f *fixture) proofreading() (thread api.Thread, answer api.Message) {
	f.t.Helper()
	i := slices.IndexFunc(f.skills, func(s skill.Skill) bool { return s.Kind == skill.KindProofreading })
	thread = get[api.Thread](f, http.StatusCreated, call{
		method: "POST", path: "/v1/thread", token: f.alice.Subject, body: map[string]any{"skill_id": f.skills[i].ID},
	})
	exchange := get[api.Exchange](f, http.StatusOK, call{
		method: "POST", path: "/v1/message/sync", token: f.alice.Subject, body: map[string]any{
			"thread_id": thread.ID, "request_id": newID(),
			"form": map[string]string{"text": proofreadText, "level": "読みやすさと敬語も整える", "style": "元の文体のまま"},
		},
	})
	if n := len(exchange.Answer.Proofread.Changes); n != 4 {
		f.t.Fatalf("%d changes: %s", n, exchange.Answer.Content)
	}
	return thread, exchange.Answer
}

func (f *fixture) decide(token string, id uuid.UUID, body any) response {
	f.t.Helper()
	return f.do(call{method: "PUT", path: "/v1/message/" + id.String() + "/decision", token: token, body: body})
}

func (f *fixture) decided(thread api.Thread) api.ProofreadDecisions {
	f.t.Helper()
	list := get[api.MessageList](f, http.StatusOK, call{
		method: "GET", path: "/v1/message?thread_id=" + thread.ID.String(), token: f.alice.Subject,
	})
	return list.Items[0].Proofread.Decisions
}

func TestDecisionsAreKept(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say(proofreadAnswer))
	thread, answer := f.proofreading()
	if d := f.decided(thread); d.Accepted != nil || d.Refused != nil {
		t.Errorf("decided from the beginning: %+v", d)
	}
	type lists = map[string][]int
	for _, test := range []struct{ put, want lists }{
		{lists{"accepted": {2, 1, 2}, "refused": {3}}, lists{"accepted": {1, 2}, "refused": {3}}},
		{lists{"accepted": {}, "refused": {4}}, lists{"accepted": {}, "refused": {4}}},
		{lists{"accepted": {}, "refused": {}}, lists{"accepted": {}, "refused": {}}},
	} {
		for range 2 {
			if resp := f.decide(f.alice.Subject, answer.ID, test.put); resp.status != http.StatusNoContent {
				t.Fatalf("%d %s", resp.status, resp.body)
			}
		}
		got := f.decided(thread)
		if !slices.Equal(got.Accepted, test.want["accepted"]) || !slices.Equal(got.Refused, test.want["refused"]) ||
			got.Accepted == nil {
			t.Errorf("after %v: %+v", test.put, got)
		}
	}
	for name, test := range map[string]struct {
		id     uuid.UUID
		token  string
		body   any
		status int
	}{
		"in both":       {answer.ID, f.alice.Subject, lists{"accepted": {1}, "refused": {1}}, 400},
		"unknown":       {answer.ID, f.alice.Subject, lists{"accepted": {5}, "refused": {}}, 400},
		"not all":       {answer.ID, f.alice.Subject, lists{"accepted": {1}}, 400},
		"a question's":  {answer.ParentID, f.alice.Subject, lists{"accepted": {}, "refused": {}}, 409},
		"a colleague's": {answer.ID, f.bob.Subject, lists{"accepted": {}, "refused": {}}, 404},
	} {
		if resp := f.decide(test.token, test.id, test.body); resp.status != test.status {
			t.Errorf("%s: %d %s", name, resp.status, resp.body)
		}
	}
}

func (f *fixture) docx(id uuid.UUID, changes string) response {
	f.t.Helper()
	resp := f.do(call{
		method: "GET", path: "/v1/message/" + id.String() + "/docx" + changes, token: f.alice.Subject,
	})
	if resp.status != http.StatusOK {
		f.t.Fatalf("%d %s", resp.status, resp.body)
	}
	return resp
}

func TestProofreadingIsSavedAsADocument(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say(proofreadAnswer))
	_, answer := f.proofreading()
	all := strings.NewReplacer("賜わり", "賜り", "をを", "を", "下さい", "ください")
	some := strings.NewReplacer("をを", "を", "三日", "四日")
	check := func(name, changes, from, want string) {
		t.Helper()
		resp := f.docx(answer.ID, changes)
		text, err := redline.Text(resp.body)
		if err != nil || text != want || resp.header.Get("Tsumugi-Docx") != from {
			t.Errorf("%s: %q from %s and error %v, want %q", name, text, resp.header.Get("Tsumugi-Docx"), err, want)
		}
		disposition, params, err := mime.ParseMediaType(resp.header.Get("Content-Disposition"))
		if err != nil || disposition != "attachment" || !strings.HasSuffix(params["filename"], "（校正）.docx") ||
			strings.ContainsAny(params["filename"], `/\`) {
			t.Errorf("%s: %s %v %v", name, disposition, params, err)
		}
	}
	check("all open", "", "text", all.Replace(proofreadText))
	check("all open", "?changes=applied", "text", all.Replace(proofreadText))
	f.decide(f.alice.Subject, answer.ID, map[string]any{"accepted": []int{2, 4}, "refused": []int{1, 3}})
	check("decided", "?changes=tracked", "text", some.Replace(proofreadText))
	check("decided", "?changes=applied", "text", some.Replace(proofreadText))

	file := must.Get(redline.New(proofreadText))(t)
	source := get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, "案内/文.docx", string(file)))
	fromNamed := func(id uuid.UUID, name string) {
		f.exec(`UPDATE messages SET proofread = proofread || jsonb_build_object('file', jsonb_build_object(
			'data_source_id', $2::text, 'filename', $3::text, 'docx', true)) WHERE id = $1`, answer.ID, id, name)
	}
	from := func(id uuid.UUID) { fromNamed(id, "案内/文.docx") }
	from(source.ID)
	check("of a file", "", "original", some.Replace(proofreadText))
	check("of a file", "?changes=applied", "original", some.Replace(proofreadText))
	other := get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, "別.docx", string(file[:200])))
	from(other.ID)
	check("of a broken file", "", "text", some.Replace(proofreadText))
	f.do(call{method: "DELETE", path: "/v1/data-source/" + source.ID.String(), token: f.alice.Subject})
	from(source.ID)
	check("of a deleted file", "", "text", some.Replace(proofreadText))
	macros := get[api.DataSource](f, http.StatusCreated, upload(f.alice.Subject, "案内.DOCM", string(file)))
	fromNamed(macros.ID, "案内.DOCM")
	_, params, _ := mime.ParseMediaType(f.docx(answer.ID, "").header.Get("Content-Disposition"))
	if params["filename"] != "案内（校正）.docm" {
		t.Errorf("with macros: %v", params)
	}
	resp := f.do(call{
		method: "GET", path: "/v1/message/" + answer.ID.String() + "/docx?changes=all", token: f.alice.Subject,
	})
	if resp.status != http.StatusBadRequest {
		t.Errorf("changes=all: %d", resp.status)
	}
}
