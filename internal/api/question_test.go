package api_test

import (
	"math"
	"net/http"
	"slices"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

// TestDataSourcesInQuestions asks with all data sources of the thread, with one, with none, and with invalid ones.
func TestDataSourcesInQuestions(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	token := f.alice.Subject
	rules := get[api.DataSource](f, http.StatusCreated, upload(token, "就業規則.md", "始業は9時とする。")).ID
	travel := get[api.DataSource](f, http.StatusCreated, upload(token, "旅費規程.md", "日当は3,000円とする。")).ID
	foreign := get[api.DataSource](f, http.StatusCreated, upload(f.bob.Subject, "同僚.txt", "秘密")).ID
	thread := f.thread(token).ID
	get[api.Preprocess](f, http.StatusAccepted, preprocess(token, thread, false, newID(), rules))
	ask := func(thread uuid.UUID, fields map[string]any) call {
		body := map[string]any{"request_id": newID(), "thread_id": thread, "content": "始業は何時ですか"}
		for name, value := range fields {
			body[name] = value
		}
		return call{method: "POST", path: "/v1/message/sync", token: token, body: body}
	}
	for _, c := range []struct {
		fields map[string]any
		want   []uuid.UUID
	}{
		{nil, []uuid.UUID{rules}},
		{map[string]any{"data_source_ids": nil}, []uuid.UUID{rules}},
		{map[string]any{"data_source_ids": []uuid.UUID{travel, travel}}, []uuid.UUID{travel}},
		{map[string]any{"data_source_ids": []uuid.UUID{}}, nil},
	} {
		got := get[api.Exchange](f, http.StatusOK, ask(thread, c.fields)).Question.DataSourceIds
		if !slices.Equal(got, c.want) {
			t.Errorf("with %v the question has %v", c.fields, got)
		}
	}

	form := get[api.Thread](f, http.StatusCreated, call{
		method: "POST", path: "/v1/thread", token: token, body: map[string]any{"skill_id": f.find(skill.FormForm).ID},
	}).ID
	many := make([]uuid.UUID, 21)
	for i := range many {
		many[i] = uuid.Must(uuid.NewV7())
	}
	sent := map[string]any{"request_id": newID(), "data_source_ids": []uuid.UUID{rules}}
	get[api.Exchange](f, http.StatusOK, ask(thread, sent))
	for name, c := range map[string]struct {
		call   call
		status int
		code   string
	}{
		"a colleague's": {ask(thread, map[string]any{"data_source_ids": []uuid.UUID{foreign}}), 404, "not_found"},
		"missing":       {ask(thread, map[string]any{"data_source_ids": many[:1]}), 404, "not_found"},
		"too many":      {ask(thread, map[string]any{"data_source_ids": many}), 400, "invalid"},
		"no id":         {ask(thread, map[string]any{"data_source_ids": []string{"x"}}), 400, "invalid"},
		"a skill without": {
			ask(form, map[string]any{"data_source_ids": []uuid.UUID{rules}}), 400, "data_sources_not_accepted",
		},
		"the same request": {
			ask(thread, map[string]any{"request_id": sent["request_id"], "data_source_ids": []uuid.UUID{travel}}),
			409, "request_id_conflict",
		},
	} {
		if resp := f.do(c.call); resp.status != c.status || resp.problem(t).Code != c.code {
			t.Errorf("%s: %d %s", name, resp.status, resp.body)
		}
	}
}

// TestFirstTokenTakesTwoRoundTrips: the first one authenticates and reads the thread, the second one stores the question.
func TestFirstTokenTakesTwoRoundTrips(t *testing.T) {
	t.Parallel()
	model := llmtest.NewLive()
	f := newFixtureWith(t, model, settings{counted: true})
	thread, least := f.thread(f.alice.Subject), int64(math.MaxInt64)
	for range 8 { // The first ones prepare statements and the title, and others may meet work in the background.
		ask := f.ask(thread, "糸とは")
		before := f.traffic.RoundTrips()
		e := f.open(ask)
		answer := model.Next(t)
		answer.Emit("繭から")
		for e.text == "" {
			e.next(t)
		}
		least = min(least, f.traffic.RoundTrips()-before)
		answer.Finish()
		e.all(t)
	}
	if least != 2 {
		t.Errorf("the first token takes %d round trips", least)
	}
}
