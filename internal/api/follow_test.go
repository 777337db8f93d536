package api_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestR31_StreamsBeyondTheLimitsAreRefused: a refused stream returns a reason and stores no question.
func TestR31_StreamsBeyondTheLimitsAreRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.NewLive())
	thread := f.thread(f.alice.Subject)
	refused := func(status int, code, detail string) {
		t.Helper()
		for _, c := range []call{
			f.ask(thread, "糸とは"),
			{method: "GET", path: "/v1/message/" + newID() + "/stream", token: f.alice.Subject},
		} {
			resp := f.do(c)
			after, err := strconv.Atoi(resp.header.Get("Retry-After"))
			p := resp.problem(t)
			if resp.status != status || p.Code != code || !strings.Contains(p.Detail, detail) || err != nil ||
				after < 2 || after > 10 {
				t.Errorf("%s: %d, Retry-After %d, %+v", c.method, resp.status, after, p)
			}
		}
	}
	admit := func(person string, n int) (releases []func()) {
		t.Helper()
		for range n {
			admission := must.Get(f.streams.Admit(person))(t)
			releases = append(releases, admission.Release)
		}
		return releases
	}
	others := admit(f.bob.ID.String(), 50)
	refused(http.StatusServiceUnavailable, "unavailable", "混み合って")
	for _, release := range others {
		release()
	}
	must.Succeed(t, f.streams.Drain(context.Background(), 0))
	refused(http.StatusServiceUnavailable, "unavailable", "再起動")
	if resp := f.do(call{
		method: "GET", path: "/v1/message?thread_id=" + thread.ID.String(),
		token: f.alice.Subject,
	}); strings.Contains(string(resp.body), "糸とは") {
		t.Error("a question was taken that was refused")
	}
}

// TestStreamsThatWereTakenOverAreLogged ends a hijacked stream long after its request.
func TestStreamsThatWereTakenOverAreLogged(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixture(t, model)
	ask := f.ask(f.thread(f.alice.Subject), "糸とは")
	ask.header = map[string]string{"X-Request-Id": "of-the-stream"}
	events := f.open(ask)
	answer := model.Next(t)
	answer.Emit("繭から")
	for events.text != "繭から" {
		events.next(t)
	}
	if st := f.streams.Stats(); st.OpenFast != 1 {
		t.Errorf("got %+v", st)
	}
	for len(f.logs.with(`"msg":"request"`, `/v1/message/stream`, `"status":200`)) == 0 {
		runtime.Gosched()
	}
	f.streams.Close()
	if events.all(t); events.types[len(events.types)-1] == "[DONE]" {
		t.Errorf("got %v", events.types)
	}
	for len(f.logs.with(`"msg":"stream cut off"`, `"request_id":"of-the-stream"`, `"message_id":"`)) == 0 {
		runtime.Gosched()
	}
}

// TestHalfClosedCallsAreAnswered closes the sending side with the request, like `nc -N`.
func TestHalfClosedCallsAreAnswered(t *testing.T) {
	t.Parallel()
	for _, plain := range []bool{false, true} {
		t.Run(fmt.Sprintf("plain %v", plain), func(t *testing.T) {
			t.Parallel()
			model := llmtest.NewLive()
			f := newFixtureWith(t, model, settings{plain: plain})
			ask := f.ask(f.thread(f.alice.Subject), "糸とは")
			asked := f.half(ask)
			ask.path = "/v1/message/async"
			id := get[api.Exchange](f, http.StatusAccepted, ask).Answer.ID.String()
			watching := f.half(call{method: "GET", path: "/v1/message/" + id + "/stream", token: f.alice.Subject})
			answer := model.Next(t)
			answer.Emit("繭から")
			for asked.text == "" {
				asked.next(t)
			}
			answer.Emit("引く。")
			answer.Finish()
			for _, events := range []*events{asked, watching} {
				if events.all(t); events.text != "繭から引く。" || events.types[len(events.types)-1] != "[DONE]" {
					t.Errorf("%q, %v", events.text, events.types)
				}
			}
		})
	}
}

// half makes a call that returns an event stream, and closes its sending side.
func (f *fixture) half(c call) *events {
	f.t.Helper()
	r := f.request(c)
	conn := must.Get(net.Dial("tcp", r.URL.Host))(f.t)
	f.t.Cleanup(func() { _ = conn.Close() })
	must.Succeed(f.t, r.Write(conn))
	must.Succeed(f.t, conn.(*net.TCPConn).CloseWrite())
	resp, err := http.ReadResponse(bufio.NewReader(conn), r)
	if err != nil || resp.StatusCode != http.StatusOK {
		f.t.Fatal(resp, err)
	}
	return &events{lines: bufio.NewScanner(resp.Body), body: resp.Body}
}
