package llmtest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/internal/inproc"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func ask(t *testing.T, model llm.Model, content string) (string, llm.Result, error) {
	t.Helper()
	return askAll(t, model, llm.Message{Role: llm.RoleUser, Content: content})
}

func askAll(t *testing.T, model llm.Model, messages ...llm.Message) (string, llm.Result, error) {
	t.Helper()
	var text strings.Builder
	result, err := model.Stream(t.Context(), llm.Request{Messages: messages},
		func(piece string) { text.WriteString(piece) })
	return text.String(), result, err
}

func newClient(t *testing.T, base string, transport http.RoundTripper, stall time.Duration) *llm.Client {
	t.Helper()
	client := must.Get(llm.NewClient(llm.Config{
		BaseURL: base, Model: "m", Transport: transport, Backoff: time.Millisecond, MaxBackoff: time.Millisecond,
		TokenTimeout: stall,
	}))(t)
	t.Cleanup(client.Close)
	return client
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 1, 2, 3, 599, 600, 5000, 60000} {
		if got := utf8.RuneCountInString(llmtest.Markdown(n, 1)); got != n {
			t.Errorf("%d characters, want %d", got, n)
		}
		text := llmtest.MarkdownBytes(n, 1)
		if len(text) != n || !utf8.ValidString(text) {
			t.Errorf("%d bytes, want %d", len(text), n)
		}
	}
	text := llmtest.Markdown(6000, 0)
	for _, want := range []string{
		"## 1. ", "**「", "\n- **", "\n1. ", "| :--- |", "```go\n", "$$\n", "\n> ",
		"](https://",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in the Markdown", want)
		}
	}
	if text != llmtest.Markdown(6000, 0) || text == llmtest.Markdown(6000, 1) {
		t.Error("the seed doesn't decide")
	}
}

func TestHandler(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(llmtest.NewHandler(0))
	t.Cleanup(server.Close)
	t.Cleanup(server.CloseClientConnections)
	whole := llmtest.Markdown(300, 7)
	for _, test := range []struct {
		question string
		text     string
		code     fault.Code
	}{
		{"こんにちは", llmtest.Markdown(600, 0), ""},
		{`依頼: @script {"chars":300,"seed":7} よろしく`, whole, ""},
		{`@script {"bytes":1000,"token_chars":5}`, llmtest.MarkdownBytes(1000, 0), ""},
		{`@script {"text":"一二三四五","finish":"length"}`, "一二三四五", ""},
		{`@script {"text":"一二三四五","fail":"kill","fail_after":3}`, "一二三", llm.CodeInterrupted},
		{`@script {"text":"一二三四五","fail":"eof","fail_after":3}`, "一二三", llm.CodeInterrupted},
		{`@script {"text":"一二三四五","fail":"error","fail_after":3}`, "一二三", llm.CodeInterrupted},
		{`@script {"text":"一二三四五","fail":"rate_limit","fail_after":1}`, "一", llm.CodeRateLimited},
		{`@script {"text":"一二三四五","fail":"filter","fail_after":5}`, "一二三四五", llm.CodeFiltered},
		{`@script {"text":"一二三四五","fail":"half_json","fail_after":2}`, "一二", llm.CodeBadResponse},
		{`@script {"text":"一二三四五","fail":"long_line","fail_after":2}`, "一二", llm.CodeBadResponse},
		{`@script {"text":"一二三四五","stall_after":4}`, "一二三四", llm.CodeTimeout},
		{`@script {"status":401}`, "", llm.CodeAuth},
		{`@script {"status":500,"times":2,"text":"三度目"}`, "三度目", ""},
		{`@script {"fail":"kill","times":1,"key":"k","text":"二度目"}`, "二度目", ""},
		{`@script {"unknown":1}`, "", llm.CodeBadRequest},
		{`@script {"fail":"often"}`, "", llm.CodeBadRequest},
		{`@script {"chars":-1}`, "", llm.CodeBadRequest},
		{`@script {"text":"答え","reasoning":"考え"}`, "答え", ""},
		{`@script {"reasoning_chars":90,"reasoning_form":"think","no_answer":true}`, "", llm.CodeBadResponse},
		{`@script {"reasoning_form":"aloud"}`, "", llm.CodeBadRequest},
		{`@script {"reasoning_chars":-1}`, "", llm.CodeBadRequest},
		{`@script 1`, "", llm.CodeBadRequest},
	} {
		t.Run(test.question, func(t *testing.T) {
			t.Parallel()
			stall := time.Minute
			if test.code == llm.CodeTimeout {
				stall = 500 * time.Millisecond
			}
			text, result, err := ask(t, newClient(t, server.URL, nil, stall), test.question)
			if text != test.text || fault.CodeOf(err) != test.code {
				t.Errorf("%q, %v", text, err)
			}
			if err == nil && (result.Usage.InputTokens == 0 || result.FinishReason == "") {
				t.Errorf("%+v", result)
			}
		})
	}
}

func TestHandlerReasoning(t *testing.T) {
	t.Parallel()
	client := newClient(t, "http://model.test", &inproc.Transport{Handler: llmtest.NewHandler(0)}, 0)
	for _, form := range []string{llmtest.ReasoningContent, llmtest.ReasoningField, llmtest.ReasoningTags} {
		reasoning, text := "", ""
		_, err := client.Stream(t.Context(), llm.Request{
			Messages: []llm.Message{{
				Role: llm.RoleUser, Content: `@script {"reasoning":"考えた。","reasoning_form":"` + form +
					`","text":"答え","fail_after":1,"fail":"eof"}`,
			}},
			Reasoning: func(piece string) { reasoning += piece },
		}, func(piece string) { text += piece })
		if strings.TrimSpace(reasoning) != "考えた。" || text != "答" || fault.CodeOf(err) != llm.CodeInterrupted {
			t.Errorf("%s: %q, %q, %v", form, reasoning, text, err)
		}
	}
}

func TestHandlerTitle(t *testing.T) {
	t.Parallel()
	client := newClient(t, "http://model.test", &inproc.Transport{Handler: llmtest.NewHandler(time.Hour)}, 0)
	system := llm.Message{Role: llm.RoleSystem, Content: llmtest.TitleInstruction}
	for content, want := range map[string]string{
		"<question>有給休暇について</question>":                                          llmtest.Title,
		`<question>@script {"chars":9,"title":"休暇の申請"}</question>` + "<answer/>": "休暇の申請",
		`<question>@script {"status":500}</question>`:                            llmtest.Title,
	} {
		text, _, err := askAll(t, client, system, llm.Message{Role: llm.RoleUser, Content: content})
		if err != nil || text != want {
			t.Errorf("%q, %v", text, err)
		}
	}
}

// TestHandlerOlderDirective: a directive applies to its own question only.
func TestHandlerOlderDirective(t *testing.T) {
	t.Parallel()
	client := newClient(t, "http://model.test", &inproc.Transport{Handler: llmtest.NewHandler(0)}, 0)
	text, _, err := askAll(t, client,
		llm.Message{Role: llm.RoleUser, Content: `@script {"text":"前の回答"}`},
		llm.Message{Role: llm.RoleAssistant, Content: "前の回答"},
		llm.Message{Role: llm.RoleUser, Content: "続けてください"})
	if err != nil || text != llmtest.Markdown(600, 0) {
		t.Errorf("%q, %v", text, err)
	}
}

func TestHandlerPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, "http://model.test", &inproc.Transport{Handler: llmtest.NewHandler(time.Second)}, 0)
		start := time.Now()
		var at []time.Duration
		_, err := client.Stream(t.Context(), llm.Request{Messages: []llm.Message{{
			Role: llm.RoleUser, Content: `@script {"text":"一二三四五六","tokens_per_second":10,"first_token_ms":700}`,
		}}}, func(string) { at = append(at, time.Since(start)) })
		if err != nil || fmt.Sprint(at) != "[700ms 800ms 900ms]" {
			t.Errorf("tokens at %v, %v", at, err)
		}
	})
}

func TestHandlerNumbered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := newClient(t, "http://model.test", &inproc.Transport{Handler: llmtest.NewHandler(0)}, 0)
		due := time.Now().Add(300 * time.Millisecond)
		var got []byte
		chunks := 0
		_, err := client.Stream(t.Context(), llm.Request{Messages: []llm.Message{{
			Role: llm.RoleUser, Content: `@script {"numbered":5,"tokens_per_second":10,"first_token_ms":300}`,
		}}}, func(text string) { got = append(got, text...); chunks++ })
		if err != nil || chunks != 5 || string(got) != string(llmtest.NumberedText(5, due)) {
			t.Fatalf("%q in %d chunks, %v", got, chunks, err)
		}
		at := func(n int) int { return llmtest.ReadToken(got[n*llmtest.TokenBytes:]) }
		if clock := llmtest.ReadClock(at(0), at(1)); !clock.Equal(due) {
			t.Errorf("the first was due at %v, got %v", due, clock)
		}
		for n := llmtest.ClockTokens; n < 5; n++ {
			if at(n) != n {
				t.Errorf("token %d spells %d", n, at(n))
			}
		}
	})
	for _, n := range []int{0, 1, 1<<14 - 1, 1 << 14, 123_456_789} {
		token := llmtest.AppendToken(nil, n)
		if got := llmtest.ReadToken(token); got != n || len(token) != llmtest.TokenBytes {
			t.Errorf("%d: %q spells %d", n, token, got)
		}
	}
	if got := llmtest.ReadToken([]byte("abcdef")); got != -1 {
		t.Errorf("no token spells %d", got)
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	text, result, err := ask(t, llmtest.Say("はい、", "どうぞ。"), "何か")
	if err != nil || text != "はい、どうぞ。" || result.FinishReason != llm.FinishStop || result.Usage.OutputTokens == 0 {
		t.Errorf("%q %+v %v", text, result, err)
	}
	text, _, err = askAll(t, llmtest.Say("はい"), llm.Message{Role: llm.RoleSystem, Content: llmtest.TitleInstruction})
	if err != nil || text != llmtest.Title {
		t.Errorf("%q %v", text, err)
	}
	failure := errors.New("broken")
	text, _, err = ask(t, llmtest.Fail(failure, "途中"), "何か")
	if !errors.Is(err, failure) || text != "途中" {
		t.Errorf("%q %v", text, err)
	}
}

func TestLive(t *testing.T) {
	t.Parallel()
	live := llmtest.NewLive()
	pieces := make(chan string, 8)
	failed := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	stream := func() {
		_, err := live.Stream(ctx, llm.Request{}, func(text string) { pieces <- text })
		failed <- err
	}
	go stream()
	call := live.Next(t)
	if !call.Emit("あ") || <-pieces != "あ" || !call.Finish() || <-failed != nil {
		t.Error("the answer did not arrive")
	}
	if call.Emit("い") || call.Finish() {
		t.Error("a finished call takes more")
	}
	go stream()
	call = live.Next(t)
	cancel()
	<-call.Gone()
	if err := <-failed; fault.CodeOf(err) != fault.Canceled || call.Fail(err) {
		t.Errorf("%v", err)
	}
}
