package api_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// TestCostlySummary: a question that takes more than 100,000 tokens is refused with an estimate, and answered after the
// estimate is accepted. The answer's usage is the sum of all calls, and equals the usage counted for the person.
func TestCostlySummary(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	f := newFixtureWith(t, llmtest.Func(func(_ context.Context, _ llm.Request, emit func(string)) (llm.Result, error) {
		asked.Add(1)
		emit("- 要点 [1]\n")
		return llm.Result{FinishReason: llm.FinishStop, Usage: llm.Usage{InputTokens: 100, OutputTokens: 10}}, nil
	}), settings{reads: true})
	token := f.alice.Subject
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "# 第%d章\n\n%s\n\n", i+1, strings.Repeat("経緯の説明が続く。", 80))
	}
	report := get[api.DataSource](f, http.StatusCreated, upload(token, "報告書.md", text.String())).ID
	summarizes := f.skills[slices.IndexFunc(f.skills, func(s skill.Skill) bool {
		return s.TaskType == skill.TaskSummarization
	})]
	thread := get[api.Thread](f, http.StatusCreated, call{
		method: "POST", path: "/v1/thread", token: token,
		body: map[string]any{"skill_id": summarizes.ID, "title": "題"},
	}).ID
	get[api.Preprocess](f, http.StatusOK, preprocess(token, thread, true, newID(), report))
	used := func() int {
		usage := get[api.OwnUsage](f, http.StatusOK, call{method: "GET", path: "/v1/me/usage", token: token})
		return int(usage.InputTokens + usage.OutputTokens)
	}
	body := map[string]any{"request_id": newID(), "thread_id": thread, "content": "要約してください"}
	ask := func(way string, fields map[string]any) call {
		sent := maps.Clone(body)
		maps.Copy(sent, fields)
		return call{method: "POST", path: "/v1/message/" + way, token: token, body: sent}
	}
	var tokens int
	for _, way := range []string{"sync", "async", "stream"} {
		r := f.do(ask(way, nil))
		p := r.problem(t)
		if r.status != http.StatusConflict || p.Code != string(chat.ConfirmationRequired) ||
			p.EstimatedTokens <= chat.ConfirmTokens || !strings.Contains(p.Detail, "約") {
			t.Errorf("%s: %d %+v", way, r.status, p)
		}
		tokens = p.EstimatedTokens
	}
	if messages := f.messagesOf(thread.String()); len(messages) != 0 || asked.Load() != 0 || used() != 0 {
		t.Errorf("%d messages, %d calls, %d tokens", len(messages), asked.Load(), used())
	}

	answer := get[api.Exchange](f, http.StatusOK, ask("sync", map[string]any{"accept_tokens": tokens})).Answer
	calls := int(asked.Load())
	if want := (api.Usage{InputTokens: 100 * calls, OutputTokens: 10 * calls}); answer.Usage != want || calls < 10 ||
		used() != 110*calls {
		t.Errorf("the usage of %d calls is %+v; %d tokens are counted", calls, answer.Usage, used())
	}
	for _, fields := range []map[string]any{nil, {"accept_tokens": tokens}} {
		if again := get[api.Exchange](f, http.StatusOK, ask("sync", fields)).Answer; again.ID != answer.ID {
			t.Errorf("repeated with %v: %+v", fields, again)
		}
	}
	if r := f.do(ask("sync", map[string]any{"accept_tokens": -1, "request_id": newID()})); r.status != 400 {
		t.Errorf("less than nothing: %d", r.status)
	}
}

// TestCostlyPage: the same applies to a page of the browser extension. No thread is created before.
func TestCostlyPage(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("- 要点 [1]\n"), settings{reads: true})
	page := map[string]any{
		"url": "https://example.jp/", "title": "約款", "text": strings.Repeat("経緯の説明が続く。", 20_000),
	}
	c := f.aboutPage(summaryKind, map[string]any{"page": page})
	r := f.do(c)
	p := r.problem(t)
	if r.status != http.StatusConflict || p.Code != string(chat.ConfirmationRequired) ||
		p.EstimatedTokens <= chat.ConfirmTokens || len(f.threads(f.alice.Subject)) != 0 {
		t.Fatalf("%d %+v", r.status, p)
	}
	c.body.(map[string]any)["accept_tokens"] = p.EstimatedTokens
	f.open(c).all(t)
	if threads := f.threads(f.alice.Subject); len(threads) != 1 || threads[0].ID == uuid.Nil {
		t.Errorf("threads %+v", threads)
	}
}
