package api_test

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	r3labs "github.com/r3labs/sse/v2"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// events reads an event stream: the ids and the data of its events, in order.
type events struct {
	lines *bufio.Scanner
	body  io.Closer
	id    string // The last event id.
	text  string // The text of all deltas so far.
	types []string
}

// open makes a call that returns an event stream.
func (f *fixture) open(c call) *events {
	f.t.Helper()
	resp := must.Get(http.DefaultTransport.RoundTrip(f.request(c)))(f.t)
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		body, _ := io.ReadAll(resp.Body)
		f.t.Fatalf("%s %s: %d %s", c.method, c.path, resp.StatusCode, body)
	}
	f.t.Cleanup(func() { _ = resp.Body.Close() })
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	return &events{lines: lines, body: resp.Body}
}

// next reads up to the next event and returns its chunk's type, or "" at the end of the stream.
func (e *events) next(t testing.TB) string {
	t.Helper()
	data := ""
	for e.lines.Scan() {
		line := e.lines.Text()
		if id, found := strings.CutPrefix(line, "id: "); found {
			e.id = id
		}
		if d, found := strings.CutPrefix(line, "data: "); found {
			data = d
		}
		if line != "" || data == "" {
			continue
		}
		if data == "[DONE]" {
			e.types = append(e.types, data)
			return data
		}
		var chunk struct {
			Type      string
			Delta     string
			MessageID string `json:"messageId"`
		}
		must.Succeed(t, json.Unmarshal([]byte(data), &chunk))
		knownChunk(t, data)
		e.text += chunk.Delta
		e.types = append(e.types, chunk.Type)
		return chunk.Type
	}
	return ""
}

// knownChunk fails the test if openapi.yaml does not define a chunk.
func knownChunk(t testing.TB, data string) {
	t.Helper()
	doc := must.Get(document())(t)
	var value any
	must.Succeed(t, json.Unmarshal([]byte(data), &value))
	if err := doc.Components.Schemas["StreamChunk"].Value.VisitJSON(value); err != nil {
		t.Errorf("openapi.yaml does not know %s: %v", data, err)
	}
}

// TestChunksAreThoseOfTheContract validates the golden streams, which contain every type of chunk, against
// openapi.yaml.
func TestChunksAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../stream/testdata/*.sse")
	if err != nil || len(files) < 5 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		raw := must.Get(os.ReadFile(file))(t)
		for line := range strings.Lines(string(raw)) {
			if data, ok := strings.CutPrefix(line, "data: "); ok && data != "[DONE]\n" {
				knownChunk(t, data)
			}
		}
	}
}

func (e *events) all(t testing.TB) *events {
	t.Helper()
	for e.next(t) != "" {
	}
	return e
}

func (f *fixture) ask(thread api.Thread, content string) call {
	return call{method: "POST", path: "/v1/message/stream", token: f.alice.Subject, body: map[string]any{
		"request_id": newID(), "thread_id": thread.ID, "content": content,
	}}
}

// TestTheSameCallAgainResumes disconnects a stream during an answer and repeats the POST with the cursor.
func TestTheSameCallAgainResumes(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	thread := f.thread(f.alice.Subject)
	ask := f.ask(thread, "糸とは")
	first := f.open(ask)
	answer := model.Next(t)
	answer.Emit("繭から")
	for first.text != "繭から" {
		first.next(t)
	}
	types := slices.DeleteFunc(slices.Clone(first.types), func(s string) bool { return s == "data-title" })
	if first.id != "1-9" || !slices.Equal(types, []string{"start", "text-start", "text-delta"}) {
		t.Errorf("got %q, %v", first.id, first.types)
	}
	_ = first.body.Close()
	answer.Emit("引いたもの。")
	ask.header = map[string]string{"Last-Event-ID": first.id}
	second := f.open(ask)
	answer.Emit("🧵")
	answer.Finish()
	second.all(t)
	if first.text+second.text != "繭から引いたもの。🧵" || second.types[len(second.types)-1] != "[DONE]" {
		t.Errorf("got %q then %q, %v", first.text, second.text, second.types)
	}
	list := get[api.MessageList](f, http.StatusOK, call{
		method: "GET",
		path:   "/v1/message?thread_id=" + thread.ID.String(), token: f.alice.Subject,
	})
	if len(list.Items) != 2 || list.Items[0].Content != "繭から引いたもの。🧵" || list.Items[0].Status != "success" ||
		list.Items[0].FinishReason != "stop" || list.Items[1].Role != "user" {
		t.Errorf("stored %+v", list.Items)
	}
	// After the answer is complete, the same call is answered from the store.
	ask.header = map[string]string{"Last-Event-ID": "1-9"}
	if third := f.open(ask).all(t); third.text != "引いたもの。🧵" {
		t.Errorf("from the store: %q", third.text)
	}
	ask.body = map[string]any{
		"request_id": ask.body.(map[string]any)["request_id"], "thread_id": thread.ID,
		"content": "別の質問",
	}
	if p := f.do(ask).problem(t); p.Code != "request_id_conflict" || p.Status != http.StatusConflict {
		t.Errorf("another body: %+v", p)
	}
}

func TestAttachByID(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	thread := f.thread(f.alice.Subject)
	ask := f.ask(thread, "はい")
	ask.path = "/v1/message/async"
	exchange := get[api.Exchange](f, http.StatusAccepted, ask)
	if again := get[api.Exchange](f, http.StatusAccepted, ask); again.Answer.ID != exchange.Answer.ID {
		t.Error("the same call began another answer")
	}
	if busy := f.do(f.ask(thread, "次")).problem(t); busy.Code != "thread_busy" || busy.Status != http.StatusConflict {
		t.Errorf("got %+v", busy)
	} else if busy.MessageID != exchange.Answer.ID {
		t.Errorf("%s is said to be written, not %s", busy.MessageID, exchange.Answer.ID)
	}
	if running := get[api.Thread](f, http.StatusOK, call{
		method: "GET", path: "/v1/thread/" + thread.ID.String(),
		token: f.alice.Subject,
	}); !running.Running {
		t.Error("the thread does not say that it is being answered")
	}
	attach := call{
		method: "GET", path: "/v1/message/" + exchange.Answer.ID.String() + "/stream",
		token: f.alice.Subject,
	}
	inThread := call{method: "GET", path: "/v1/thread/" + thread.ID.String() + "/stream", token: f.alice.Subject}
	tabs := []*events{f.open(attach), f.open(attach), f.open(inThread)}
	answer := model.Next(t)
	answer.Emit("ふたつの画面")
	answer.Finish()
	for _, tab := range tabs {
		if tab.all(t); tab.text != "ふたつの画面" || tab.id != "1-18" {
			t.Errorf("got %q at %q", tab.text, tab.id)
		}
	}
	// No answer is running, and these cursors do not belong to the last answer.
	for _, cursor := range []string{"", "7-9", "x"} {
		inThread.header = map[string]string{"Last-Event-ID": cursor}
		if resp := f.do(inThread); resp.status != http.StatusNoContent {
			t.Errorf("cursor %q in the thread: %d", cursor, resp.status)
		}
	}
	inThread.header["Last-Event-ID"] = "1-9"
	if tab := f.open(inThread).all(t); tab.text != "の画面" {
		t.Errorf("got %q, %v", tab.text, tab.types)
	}
	attach.header = map[string]string{"Last-Event-ID": "1-18"}
	if resp := f.do(attach); resp.status != http.StatusNoContent {
		t.Errorf("at the end: %d", resp.status)
	}
	for _, cursor := range []string{"2-18", "1-19", "1-1", "garbage", "-1"} {
		attach.header["Last-Event-ID"] = cursor
		if tab := f.open(attach).all(t); tab.text != "ふたつの画面" || !slices.Contains(tab.types, "data-reset") {
			t.Errorf("cursor %q: %q, %v", cursor, tab.text, tab.types)
		}
	}
	question := call{
		method: "GET", path: "/v1/message/" + exchange.Question.ID.String() + "/stream",
		token: f.alice.Subject,
	}
	if resp := f.do(question); resp.status != http.StatusNotFound {
		t.Errorf("a question was streamed: %d", resp.status)
	}
}

func TestR13_StreamEndsBeforeItsToken(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	ask := f.ask(f.thread(f.alice.Subject), "はい")
	ask.token = "short:" + f.alice.Subject
	first := f.open(ask)
	answer := model.Next(t)
	answer.Emit("続き")
	if first.all(t); slices.Contains(first.types, "[DONE]") {
		t.Fatalf("it ends as if the answer were complete: %v", first.types)
	}
	answer.Emit("ます")
	answer.Finish()
	ask.token, ask.header = f.alice.Subject, map[string]string{"Last-Event-ID": first.id}
	if second := f.open(ask).all(t); first.text+second.text != "続きます" {
		t.Errorf("got %q then %q", first.text, second.text)
	}
}

func TestStopAndFeedback(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	thread := f.thread(f.alice.Subject)
	stream := f.open(f.ask(thread, "長い話"))
	answer := model.Next(t)
	answer.Emit("ここまで")
	for stream.text != "ここまで" {
		stream.next(t)
	}
	list := get[api.MessageList](f, http.StatusOK, call{
		method: "GET",
		path:   "/v1/message?thread_id=" + thread.ID.String(), token: f.alice.Subject,
	})
	id := list.Items[0].ID
	for range 2 {
		if resp := f.do(call{
			method: "POST", path: "/v1/message/" + id.String() + "/stop",
			token: f.alice.Subject,
		}); resp.status != http.StatusNoContent {
			t.Errorf("got %d %s", resp.status, resp.body)
		}
	}
	if stream.all(t); !slices.Contains(stream.types, "abort") || stream.types[len(stream.types)-1] != "[DONE]" {
		t.Errorf("got %v", stream.types)
	}
	for _, rating := range []string{"bad", "good"} {
		feedback := get[api.Feedback](f, http.StatusOK, call{
			method: "POST", path: "/v1/message_feedback",
			token: f.alice.Subject, body: map[string]any{"message_id": id, "rating": rating, "comment": "短い"},
		})
		if string(feedback.Rating) != rating || feedback.MessageID != id {
			t.Errorf("got %+v", feedback)
		}
	}
	list = get[api.MessageList](f, http.StatusOK, call{
		method: "GET",
		path:   "/v1/message?thread_id=" + thread.ID.String(), token: f.alice.Subject,
	})
	if m := list.Items[0]; m.FinishReason != "stopped" || m.Status != "success" || m.Content != "ここまで" ||
		m.Feedback.Rating != "good" || m.Feedback.Comment != "短い" {
		t.Errorf("stored %+v", m)
	}
	for range 2 {
		if resp := f.do(call{
			method: "DELETE", path: "/v1/message_feedback/" + id.String(),
			token: f.alice.Subject,
		}); resp.status != http.StatusNoContent {
			t.Errorf("withdrawn: %d %s", resp.status, resp.body)
		}
	}
	list = get[api.MessageList](f, http.StatusOK, call{
		method: "GET",
		path:   "/v1/message?thread_id=" + thread.ID.String(), token: f.alice.Subject,
	})
	if rating := list.Items[0].Feedback.Rating; rating != "" {
		t.Errorf("after the withdrawal it is rated %q", rating)
	}
	resp := f.do(call{
		method: "POST", path: "/v1/message_feedback", token: f.alice.Subject,
		body: map[string]any{"message_id": list.Items[1].ID, "rating": "good"},
	})
	if resp.status != http.StatusNotFound && resp.status != http.StatusConflict {
		t.Errorf("a question was rated: %d", resp.status)
	}
}

func TestSyncReturnsTheCompleteAnswer(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい、", "どうぞ。"))
	thread := f.thread(f.alice.Subject)
	ask := f.ask(thread, "もしもし")
	ask.path = "/v1/message/sync"
	exchange := get[api.Exchange](f, http.StatusOK, ask)
	if exchange.Answer.Content != "はい、どうぞ。" || exchange.Answer.Status != "success" ||
		exchange.Question.Content != "もしもし" {
		t.Errorf("got %+v", exchange)
	}
}

// TestStoppingServerRefusesWaitingCalls ends a request's context like a stopping server. An empty response with
// status 200 would look like an answer.
func TestStoppingServerRefusesWaitingCalls(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	ask := f.ask(f.thread(f.alice.Subject), "長い質問")
	ask.path = "/v1/message/sync"
	ctx, stop := context.WithCancel(t.Context())
	w, done := httptest.NewRecorder(), make(chan struct{})
	go func() {
		defer close(done)
		f.handler.ServeHTTP(w, f.request(ask).WithContext(ctx))
	}()
	model.Next(t)
	stop()
	<-done
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" ||
		!strings.Contains(w.Body.String(), `"unavailable"`) {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// TestAnswerOfAnotherServerIsFound follows an answer that another server writes, and then one whose thread is deleted.
func TestAnswerOfAnotherServerIsFound(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.NewLive())
	owner := identity.Owner{OrganizationID: f.alice.OrganizationID, UserID: f.alice.ID}
	other := uuid.New()
	if _, err := f.db.Renew(t.Context(), other, nil); err != nil {
		t.Fatal(err)
	}
	begin := func() chat.StoredGeneration {
		thread := f.thread(f.alice.Subject).ID
		begun := must.Get(f.db.BeginGeneration(t.Context(), chat.NewGeneration{
			Owner: owner, RequestID: uuid.New(), ServerID: other, Exchange: chat.Exchange{
				Question: chat.Message{ID: uuid.New(), ThreadID: thread, Content: "質問"},
				Answer:   chat.Message{ID: uuid.New(), ThreadID: thread, Status: chat.StatusRunning, Run: 1},
			},
		}))(t)
		return begun
	}
	watch := func(b chat.StoredGeneration) *events {
		return f.open(call{
			method: "GET", path: "/v1/message/" + b.Answer.ID.String() + "/stream",
			token: f.alice.Subject,
		})
	}
	answered, deleted := begin(), begin()
	first, second := watch(answered), watch(deleted)
	if _, err := f.db.EndGeneration(t.Context(), chat.Outcome{
		Owner: owner, ThreadID: answered.Answer.ThreadID, MessageID: answered.Answer.ID, Run: 1, ServerID: other,
		Content: "回答",
		Status:  chat.StatusSuccess, FinishReason: chat.FinishStop,
	}); err != nil {
		t.Fatal(err)
	}
	if first.all(t); first.text != "回答" || first.types[len(first.types)-1] != "[DONE]" {
		t.Errorf("got %q, %v", first.text, first.types)
	}
	if _, err := f.db.DeleteThread(t.Context(), owner, deleted.Answer.ThreadID); err != nil {
		t.Fatal(err)
	}
	if second.all(t); len(second.types) != 0 {
		t.Errorf("got %v", second.types)
	}
}

func TestUnavailableSkillHasAReason(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	for _, s := range f.skills {
		if s.Kind != skill.KindWebSearch {
			continue
		}
		thread := get[api.Thread](f, http.StatusCreated, call{
			method: "POST", path: "/v1/thread",
			token: f.alice.Subject, body: map[string]any{"skill_id": s.ID},
		})
		p := f.do(f.ask(thread, "今日のニュース")).problem(t)
		if p.Status != http.StatusConflict || p.Code != "skill_unavailable" || !strings.Contains(p.Detail, "ウェブ検索") {
			t.Errorf("got %+v", p)
		}
		return
	}
	t.Error("there is no web search skill")
}

func TestFormErrorsNameTheFields(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	thread := get[api.Thread](f, http.StatusCreated, call{
		method: "POST", path: "/v1/thread", token: f.alice.Subject,
		body: map[string]any{"skill_id": f.find(skill.FormForm).ID},
	})
	ask := f.ask(thread, "")
	ask.body = map[string]any{"request_id": newID(), "thread_id": thread.ID, "form": map[string]string{"nothing": "x"}}
	p := f.do(ask).problem(t)
	if p.Status != http.StatusBadRequest || len(p.Errors) < 2 || !strings.HasPrefix(p.Errors[0].Field, "form.") {
		t.Errorf("got %+v", p)
	}
}

// TestR3labsClientReadsAnAnswer uses a third-party client.
func TestR3labsClientReadsAnAnswer(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	thread := f.thread(f.alice.Subject)
	ask := f.ask(thread, "はい")
	ask.path = "/v1/message/async"
	exchange := get[api.Exchange](f, http.StatusAccepted, ask)
	peer := r3labs.NewClient(f.url + "/v1/message/" + exchange.Answer.ID.String() + "/stream")
	peer.Headers["Authorization"] = "Bearer " + f.alice.Subject
	received := make(chan *r3labs.Event, 1000)
	// By its context, because Unsubscribe blocks forever on a stream that has just ended by itself.
	ctx, unsubscribe := context.WithCancel(t.Context())
	defer unsubscribe()
	must.Succeed(t, peer.SubscribeChanWithContext(ctx, "", received))
	answer := model.Next(t)
	answer.Emit("読め")
	answer.Emit("ます。")
	answer.Finish()
	text, last := "", ""
	for event := range received {
		if string(event.Data) == "[DONE]" {
			break
		}
		var chunk struct{ Type, Delta string }
		if len(event.Data) > 0 {
			must.Succeed(t, json.Unmarshal(event.Data, &chunk))
		}
		text += chunk.Delta
		if len(event.ID) > 0 {
			last = string(event.ID)
		}
	}
	if text != "読めます。" || last != "1-15" {
		t.Errorf("got %q at %q", text, last)
	}
}
