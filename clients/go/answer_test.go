package tsumugi_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	tsumugi "github.com/tsumugi-ai/tsumugi/clients/go"
)

var (
	first  = run{deltas: []string{"こ", "んに", "ちは🧵", "\n\nid: 9-9\n", "「終」"}}
	second = run{deltas: []string{"新しい", "答え"}}
	asking = tsumugi.Question{ThreadID: "thread", Content: "質問です。"}
)

// named is the length of "retry: 1". Tests cut streams after it, because without a retry time the client waits 1.8 s.
const named = 10

func TestAnyCutLosesAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	for _, idFirst := range []bool{false, true} {
		for at := named; at < len(script(1, first, "", idFirst)); at++ {
			s := newServer(t, func(c call) any {
				body := script(1, first, c.cursor, idFirst)
				if c.n == 0 {
					return cut{body[:at], at%2 == 0}
				}
				return cut{body: body}
			})
			answer := s.client().Ask(asking)
			text, err := answer.Read(t.Context())
			if err != nil || text != first.text() || answer.Gaps+answer.Repeats > 0 {
				t.Fatalf("id first %v, cut at %d: %q, %v, %d gaps, %d repeats", idFirst, at, text, err, answer.Gaps,
					answer.Repeats)
			}
			had := s.had()
			if len(had) > 2 || had[0].body != had[len(had)-1].body {
				t.Fatalf("cut at %d: %+v", at, had)
			}
			s.Close()
		}
	}
}

func TestANewRunReplacesTheTextWhereverTheOldOneWasCut(t *testing.T) {
	t.Parallel()
	third := run{deltas: []string{"三度目"}}
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // The test must be repeatable.
	for at := named; at < len(script(1, first, "", false))-16; at++ {
		again := named + r.IntN(len(script(2, second, "1-3", false))-16-named)
		s := newServer(t, func(c call) any {
			switch c.n {
			case 0:
				return cut{script(1, first, c.cursor, false)[:at], true}
			case 1:
				body := script(2, second, c.cursor, false)
				return cut{body[:min(again, len(body)-16)], true}
			}
			return cut{body: script(3, third, c.cursor, false)}
		})
		answer := s.client().Ask(asking)
		if text, err := answer.Read(t.Context()); err != nil || text != third.text() {
			t.Fatalf("cut at %d and %d: %q, %v", at, again, text, err)
		}
		s.Close()
	}
}

func TestTextThatALaterRunContinuesIsKept(t *testing.T) {
	t.Parallel()
	rest := run{deltas: append(slices.Clone(first.deltas), "の続き")}
	for at := named; at < len(script(1, first, "", false))-16; at++ {
		s := newServer(t, func(c call) any {
			if c.n == 0 {
				return cut{script(1, first, c.cursor, false)[:at], true}
			}
			return cut{body: continuedScript(2, 1, rest, c.cursor, false)}
		})
		answer := s.client().Ask(asking)
		text, err := answer.Read(t.Context())
		if err != nil || text != rest.text() || answer.Gaps+answer.Repeats > 0 || len(s.had()) > 2 {
			t.Fatalf("cut at %d: %q, %v, %d gaps, %d repeats", at, text, err, answer.Gaps, answer.Repeats)
		}
		s.Close()
	}
}

func TestEventsReportProgress(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(c call) any {
		if c.n == 0 {
			return cut{script(1, first, c.cursor, false)[:500], true}
		}
		return cut{body: script(2, run{second.deltas, `{"type":"abort","reason":"stopped"}`}, c.cursor, false)}
	})
	answer := s.client().Follow("answer")
	var types []string
	for event, err := range answer.Events(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, event.Type)
		if !strings.Contains(string(event.Chunk), event.Type) {
			t.Errorf("%s has the chunk %s", event.Type, event.Chunk)
		}
	}
	types = slices.Compact(types)
	want := "start data-step text-start text-delta data-reset data-step text-start text-delta text-end abort"
	if got := strings.Join(types, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if answer.MessageID != "answer" || answer.ThreadID != "thread" || answer.QuestionID != "question" {
		t.Errorf("%+v", answer)
	}
	for _, c := range s.had() {
		if c.method != http.MethodGet || c.path != "/v1/message/answer/stream" || c.token != "token" {
			t.Errorf("%+v", c)
		}
	}
}

func TestFollowingResumesAfterLeaving(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(c call) any { return cut{body: script(1, first, c.cursor, false)} })
	answer := s.client().Ask(asking)
	got := ""
	for event := range answer.Events(t.Context()) {
		if got += event.Text; event.Text != "" {
			break
		}
	}
	rest, err := answer.Read(t.Context())
	if err != nil || got+rest != first.text() || got != first.deltas[0] {
		t.Errorf("%q and %q, %v", got, rest, err)
	}
	if text, err := answer.Read(t.Context()); text != "" || err != nil {
		t.Errorf("after the end: %q, %v", text, err)
	}
}

func TestAFailedAnswerIsAnErrorWithItsText(t *testing.T) {
	t.Parallel()
	failed := run{first.deltas, `{"type":"error","errorText":"途中で途切れました。","code":"model_interrupted","retryable":true}`}
	s := newServer(t, func(c call) any { return cut{body: script(1, failed, c.cursor, false)} })
	text, err := s.client().Ask(asking).Read(t.Context())
	var failure *tsumugi.AnswerError
	if text != first.text() || !errors.As(err, &failure) || *failure != (tsumugi.AnswerError{
		Code: "model_interrupted", Message: "途中で途切れました。", Retryable: true,
	}) {
		t.Errorf("%q, %v", text, err)
	}
}

func TestGapsAreRequestedAgain(t *testing.T) {
	t.Parallel()
	torn := strings.Replace(string(script(1, first, "", false)), `"んに"`, `"んにん"`, 1)
	s := newServer(t, func(c call) any {
		if c.n == 0 {
			return cut{[]byte(torn), false}
		}
		return cut{body: script(1, first, c.cursor, false)}
	})
	answer := s.client().Ask(asking)
	if text, err := answer.Read(t.Context()); err != nil || text != first.text() || answer.Gaps != 1 {
		t.Errorf("%q, %v, %d gaps", text, err, answer.Gaps)
	}
	if cursor := s.had()[1].cursor; cursor != "0-0" {
		t.Errorf("asked again from %s", cursor)
	}
	twice := strings.ReplaceAll(string(script(1, first, "", false)),
		"data: {\"type\":\"text-delta\",\"id\":\"0\",\"delta\":\"こ\"}\nid: 1-3\n\n",
		strings.Repeat("data: {\"type\":\"text-delta\",\"id\":\"0\",\"delta\":\"こ\"}\nid: 1-3\n\n", 2))
	s = newServer(t, func(call) any { return cut{body: []byte(twice)} })
	answer = s.client().Ask(asking)
	if text, err := answer.Read(t.Context()); err != nil || text != first.text() || answer.Repeats != 1 {
		t.Errorf("%q, %v, %d repeats", text, err, answer.Repeats)
	}
	s = newServer(t, func(call) any { return cut{body: []byte("retry: 1\n\ndata: [DONE]\n\n")} })
	if _, err := s.client().Ask(asking).Read(t.Context()); !errors.Is(err, tsumugi.ErrInconsistent) {
		t.Errorf("an end of nothing: %v", err)
	}
}

func TestAnAnswerOfAThread(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(c call) any {
		if c.n == 0 {
			return cut{script(1, first, c.cursor, false)[:400], true}
		}
		return cut{body: script(1, first, c.cursor, false)}
	})
	if text, err := s.client().FollowThread("thread").Read(t.Context()); err != nil || text != first.text() {
		t.Errorf("%q, %v", text, err)
	}
	if had := s.had(); had[0].path != "/v1/thread/thread/stream" || had[1].path != "/v1/message/answer/stream" {
		t.Errorf("%+v", had)
	}
	s = newServer(t, func(call) any { return http.StatusNoContent })
	if text, err := s.client().FollowThread("thread").Read(t.Context()); err != nil || text != "" {
		t.Errorf("nothing runs: %q, %v", text, err)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		problem tsumugi.Problem
		again   bool // The client repeats the call.
	}{
		"busy thread":     {tsumugi.Problem{Status: 409, Code: "thread_busy", MessageID: "m"}, false},
		"no such message": {tsumugi.Problem{Status: 404, Code: "not_found"}, false},
		"bad input": {tsumugi.Problem{
			Status: 400, Errors: []tsumugi.FieldError{{Field: "content"}},
			Code: "invalid",
		}, false},
		"full":             {tsumugi.Problem{Status: 503, Code: "unavailable"}, true},
		"full for an hour": {tsumugi.Problem{Status: 429, Code: "rate_limited", RetryAfter: time.Hour}, false},
	} {
		s := newServer(t, func(c call) any {
			switch c.n {
			case 0:
				return cut{[]byte("retry: 1\n\n"), true}
			case 1:
				return &test.problem
			}
			return cut{body: script(1, first, c.cursor, false)}
		})
		text, err := s.client().Ask(asking).Read(t.Context())
		var problem *tsumugi.Problem
		switch {
		case test.again && (err != nil || text != first.text()):
			t.Errorf("%s: %q, %v", name, text, err)
		case !test.again && (!errors.As(err, &problem) || problem.Code != test.problem.Code ||
			problem.MessageID != test.problem.MessageID ||
			problem.RetryAfter != test.problem.RetryAfter || !slices.Equal(problem.Errors, test.problem.Errors)):
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestATokenThatHasExpiredIsReplacedOnce(t *testing.T) {
	t.Parallel()
	for _, renews := range []bool{true, false} {
		s := newServer(t, func(c call) any {
			if c.token != "new" {
				return &tsumugi.Problem{Status: 401, Code: "unauthenticated", Detail: "jwt expired"}
			}
			return cut{body: script(1, first, c.cursor, false)}
		})
		var asked []bool
		client := &tsumugi.Client{URL: s.URL, Token: func(_ context.Context, expired bool) (string, error) {
			asked = append(asked, expired)
			if expired && renews {
				return "new", nil
			}
			return "old", nil
		}}
		text, err := client.Ask(asking).Read(t.Context())
		if !slices.Equal(asked, []bool{false, true}) || renews != (err == nil) || renews != (text == first.text()) {
			t.Errorf("renews %v: asked %v, %q, %v", renews, asked, text, err)
		}
	}
	no := errors.New("signed out")
	client := &tsumugi.Client{URL: "http://127.0.0.1:1", Token: func(context.Context, bool) (string, error) {
		return "",
			no
	}}
	if _, err := client.Ask(asking).Read(t.Context()); !errors.Is(err, no) {
		t.Errorf("without a token: %v", err)
	}
}

// network is a transport on which every request fails.
type network struct{}

func (network) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("no route to host")
}

func TestUndeliverableQuestionIsReturned(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		client := &tsumugi.Client{URL: "http://t.example", HTTP: &http.Client{Transport: network{}}}
		_, err := client.Ask(asking).Read(t.Context())
		took := time.Since(began)
		if !errors.Is(err, tsumugi.ErrUnreachable) || took < 20*time.Second || took > 31*time.Second {
			t.Errorf("after %s: %v", took, err)
		}
		// An accepted answer is followed for longer.
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		if _, err := client.Follow("answer").Read(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("an answer: %v", err)
		}
	})
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(c call) any {
		switch c.path {
		case "/v1/auth-type":
			return map[string]string{"client_id": "c", "endpoint": "/pool/"}
		case "/pool/":
			if !strings.Contains(c.body, `"PASSWORD":"right"`) || !strings.Contains(c.body, `"ClientId":"c"`) {
				return http.StatusBadRequest
			}
			return map[string]any{"AuthenticationResult": map[string]string{"IdToken": fmt.Sprint("token", c.n)}}
		case "/v1/skill":
			return map[string]any{"items": []map[string]string{
				{"id": "form", "form_type": "form"},
				{"id": "off", "form_type": "chat", "unavailable_reason": "x"},
				{"id": "s", "form_type": "chat"},
			}}
		case "/v1/thread":
			_, rest, _ := strings.Cut(c.body, `"skill_id"`)
			return map[string]string{"id": "thread of" + rest}
		}
		return http.StatusNotFound
	})
	client := &tsumugi.Client{URL: s.URL, Token: tsumugi.Password(s.URL, "user@demo.example", "right", nil)}
	skill, err := client.ChatSkill(t.Context())
	if err != nil || skill.ID != "s" {
		t.Fatalf("%+v, %v", skill, err)
	}
	thread, err := client.NewThread(t.Context(), skill.ID, "計測")
	if err != nil || thread.ID != `thread of:"s","title":"計測"}` {
		t.Errorf("%+v, %v", thread, err)
	}
	if had := s.had(); len(had) != 4 || had[3].token != "token1" {
		t.Errorf("signed in more than once: %+v", had)
	}
	if _, err := tsumugi.Password(s.URL, "user@demo.example", "wrong", nil)(t.Context(), false); err == nil {
		t.Error("signed in with a wrong password")
	}
}

func TestAskStopAndRead(t *testing.T) {
	t.Parallel()
	s := newServer(t, func(c call) any {
		switch c.method + " " + c.path {
		case "POST /v1/message/async":
			return map[string]any{"question": map[string]string{"id": "q"}, "answer": map[string]string{"id": "a"}}
		case "GET /v1/message":
			return map[string]any{"items": []map[string]any{{
				"id": "a", "content": "こん", "finish_reason": "stopped", "parent_id": "q",
				"siblings": []string{"a", c.query},
			}}}
		}
		return http.StatusNoContent
	})
	client := s.client()
	exchange, err := client.Post(t.Context(), asking)
	if err != nil || exchange.Question.ID != "q" || exchange.Answer.ID != "a" {
		t.Errorf("%+v, %v", exchange, err)
	}
	if err := client.Stop(t.Context(), "a"); err != nil {
		t.Error(err)
	}
	messages, err := client.Messages(t.Context(), "thread")
	if err != nil || len(messages) != 1 || messages[0].FinishReason != "stopped" {
		t.Errorf("%+v, %v", messages, err)
	}
	branch, err := client.Branch(t.Context(), "thread", "a")
	want := []string{"a", "leaf=a&limit=100&thread_id=thread"}
	if err != nil || branch[0].ParentID != "q" || !slices.Equal(branch[0].Siblings, want) {
		t.Errorf("%+v, %v", branch, err)
	}
	if _, err := client.Post(t.Context(), tsumugi.Question{ThreadID: "thread", Content: "改", Edit: "q"}); err != nil {
		t.Error(err)
	}
	had := s.had()
	if last := had[len(had)-1].body; !strings.Contains(last, `"edit":"q"`) || strings.Contains(last, "parent_id") {
		t.Errorf("edited with %s", last)
	}
	if had[1].path != "/v1/message/a/stop" || !strings.Contains(had[0].body, `"request_id":"`) ||
		strings.Contains(had[0].body, `"request_id":""`) {
		t.Errorf("%+v", had)
	}
}
