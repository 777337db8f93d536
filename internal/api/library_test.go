package api_test

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// madeSkill creates a skill with changes to its content.
func (f *fixture) madeSkill(token, audience string, change map[string]any) api.MadeSkill {
	f.t.Helper()
	body := savedSkill(audience, 0)
	content := body["content"].(map[string]any)
	for name, value := range change {
		content[name] = value
	}
	return get[api.MadeSkill](f, http.StatusCreated, call{method: "POST", path: "/v1/skill", token: token, body: body})
}

// TestR84_PromptsAreReadByEditorsOnly: only the routes for editors return the prompt of a skill.
func TestR84_PromptsAreReadByEditorsOnly(t *testing.T) {
	t.Parallel()
	const secret = "社外秘の手順"
	f := newFixture(t, llmtest.Say("承知しました"))
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.bob.ID)
	made := f.madeSkill(f.bob.Subject, "organization", map[string]any{
		"prompt": secret, "examples": []any{map[string]any{"question": "問い", "answer": secret}},
	})
	path := "/v1/skill/" + made.ID.String()
	thread := get[api.Thread](f, http.StatusCreated, call{
		method: "POST", path: "/v1/thread", token: f.alice.Subject, body: map[string]any{"skill_id": made.ID},
	})
	ask := f.ask(thread, "糸とは")
	ask.path = "/v1/message/sync"
	get[api.Exchange](f, http.StatusOK, ask)
	for _, readable := range []string{
		path, "/v1/skill?limit=100", "/v1/models", "/v1/thread/" + thread.ID.String(), "/v1/thread",
		"/v1/message?thread_id=" + thread.ID.String(), "/v1/skill/library", "/v1/skill/library?archived=true",
	} {
		resp := f.do(call{method: "GET", path: readable, token: f.alice.Subject})
		if resp.status != http.StatusOK || strings.Contains(string(resp.body), secret) {
			t.Errorf("%s: %d %s", readable, resp.status, resp.body)
		}
	}
	for _, refused := range []call{
		{method: "GET", path: path + "/content"},
		{method: "GET", path: path + "/version"},
		{method: "GET", path: path + "/version/1"},
		{method: "GET", path: path + "/export"},
		{method: "DELETE", path: path},
		{method: "POST", path: path + "/restore"},
		{method: "PUT", path: path + "/request", body: map[string]any{}},
		{method: "DELETE", path: path + "/request"},
		{method: "POST", path: path + "/copy", body: map[string]any{"request_id": newID(), "audience": "self"}},
		{method: "PUT", path: path, body: savedSkill("self", 1)},
	} {
		refused.token = f.alice.Subject
		if resp := f.do(refused); resp.status != http.StatusNotFound || strings.Contains(string(resp.body), secret) {
			t.Errorf("%s %s: %d %s", refused.method, refused.path, resp.status, resp.body)
		}
	}
	if resp := f.do(call{method: "PUT", path: path, token: f.alice.Subject, body: savedSkill("organization", 1)}); resp.status !=
		http.StatusForbidden {
		t.Errorf("a member saves for the organization: %d", resp.status)
	}
	full := get[api.MadeSkill](f, http.StatusOK, call{method: "GET", path: path + "/content", token: f.bob.Subject})
	if full.Content.Prompt != secret {
		t.Errorf("its maker reads %q", full.Content.Prompt)
	}
}

// TestSkillsAreTriedWithoutBeingSaved: the answer uses the content in the editor, in an ordinary thread.
func TestSkillsAreTriedWithoutBeingSaved(t *testing.T) {
	t.Parallel()
	asked := make(chan string, 10)
	f := newFixture(t, llmtest.Func(func(_ context.Context, req llm.Request, emit func(string)) (llm.Result, error) {
		asked <- req.Messages[0].Content
		emit("はい")
		return llm.Result{FinishReason: "stop"}, nil
	}))
	slot := newID()
	try := func(requestID, prompt string) api.Thread {
		content := skillContent()
		content["prompt"], content["form_fields"] = prompt, []any{map[string]any{
			"name": "company", "label": "会社名", "type": "text", "required": true,
		}}
		return get[api.Thread](f, http.StatusCreated, call{
			method: "POST", path: "/v1/skill/try", token: f.alice.Subject,
			body: map[string]any{"request_id": requestID, "slot": slot, "content": content},
		})
	}
	request := newID()
	thread := try(request, "{{会社名}}を調べる。")
	if again := try(request, "{{会社名}}を調べる。"); again.ID != thread.ID {
		t.Error("trying again begins another thread")
	}
	if thread.ExpiresAt.IsZero() {
		t.Error("the thread is kept")
	}
	answer := get[api.Exchange](f, http.StatusOK, call{
		method: "POST", path: "/v1/message/sync", token: f.alice.Subject,
		body: map[string]any{
			"request_id": newID(), "thread_id": thread.ID, "form": map[string]string{"company": "</value>紡績{{x}}"},
		},
	}).Answer
	if system := <-asked; answer.Content != "はい" || !strings.Contains(system, "<value>＜/value>紡績{{x}}</value>を調べる。") {
		t.Errorf("got %+v of %s", answer, system)
	}
	// A question after the form is sent with the form's values.
	get[api.Exchange](f, http.StatusOK, call{
		method: "POST", path: "/v1/message/sync", token: f.alice.Subject,
		body: map[string]any{
			"request_id": newID(), "thread_id": thread.ID, "parent_id": answer.ID, "content": "短くしてください",
		},
	})
	if system := <-asked; !strings.Contains(system, "<value>＜/value>紡績{{x}}</value>を調べる。") {
		t.Errorf("after the form: %s", system)
	}
	for _, list := range []string{"/v1/skill?limit=100", "/v1/skill/library", "/v1/thread"} {
		if resp := f.do(call{method: "GET", path: list, token: f.alice.Subject}); strings.Contains(string(resp.body),
			thread.Skill.ID.String()) {
			t.Errorf("%s has the draft", list)
		}
	}
	if resp := f.do(call{method: "GET", path: "/v1/skill/" + thread.Skill.ID.String(), token: f.bob.Subject}); resp.status !=
		http.StatusNotFound {
		t.Errorf("Bob finds it: %d", resp.status)
	}
	// A prompt is sufficient.
	bare := skillContent()
	bare["name"], bare["description"] = "", ""
	get[api.Thread](f, http.StatusCreated, call{
		method: "POST", path: "/v1/skill/try", token: f.alice.Subject,
		body: map[string]any{"request_id": newID(), "slot": slot, "content": bare},
	})
	wrong := skillContent()
	wrong["prompt"] = "{{担当者}}へ"
	f.refused("an unknown variable", call{
		method: "POST", path: "/v1/skill/try", token: f.alice.Subject,
		body: map[string]any{"request_id": newID(), "slot": slot, "content": wrong},
	}, "content.prompt")
}

// TestArchivedSkillsAreNotAsked: threads with an archived skill can be read but not continued until it is restored.
func TestArchivedSkillsAreNotAsked(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.bob.ID)
	made := f.madeSkill(f.bob.Subject, "organization", nil)
	path := "/v1/skill/" + made.ID.String()
	begin := call{
		method: "POST", path: "/v1/thread", token: f.alice.Subject, body: map[string]any{"skill_id": made.ID},
	}
	thread := get[api.Thread](f, http.StatusCreated, begin)
	ask := func(kind string, change map[string]any) call {
		body := map[string]any{"request_id": newID(), "thread_id": thread.ID}
		maps.Copy(body, change)
		return call{method: "POST", path: "/v1/message/" + kind, token: f.alice.Subject, body: body}
	}
	first := get[api.Exchange](f, http.StatusOK, ask("sync", map[string]any{"content": "糸とは"}))
	turns := map[string]map[string]any{
		"a question": {"content": "続き"},
		"an edit":    {"content": "布とは", "edit": first.Question.ID},
		"again":      {"regenerate": first.Answer.ID},
	}
	archive := call{method: "DELETE", path: path, token: f.bob.Subject}
	if resp := f.do(archive); resp.status != http.StatusOK && resp.status != http.StatusNoContent {
		t.Fatalf("archiving: %d %s", resp.status, resp.body)
	}
	for name, turn := range turns {
		for _, kind := range []string{"sync", "async", "stream"} {
			refused := get[api.Problem](f, http.StatusConflict, ask(kind, turn))
			if refused.Code != string(fault.SkillUnavailable) || refused.Detail == "" {
				t.Errorf("%s, %s: %+v", name, kind, refused)
			}
		}
	}
	if resp := f.do(begin); resp.status != http.StatusNotFound {
		t.Errorf("a thread begins: %d %s", resp.status, resp.body)
	}
	offered := get[api.Skill](f, http.StatusOK, call{method: "GET", path: path, token: f.alice.Subject})
	messages := get[api.MessageList](f, http.StatusOK, call{
		method: "GET", path: "/v1/message?thread_id=" + thread.ID.String(), token: f.alice.Subject,
	})
	if offered.UnavailableReason == "" || len(messages.Items) != 2 {
		t.Errorf("the reason is %q, and %d messages are read", offered.UnavailableReason, len(messages.Items))
	}
	restore := call{method: "POST", path: path + "/restore", token: f.bob.Subject}
	if resp := f.do(restore); resp.status != http.StatusOK && resp.status != http.StatusNoContent {
		t.Fatalf("restoring: %d %s", resp.status, resp.body)
	}
	for _, turn := range turns {
		get[api.Exchange](f, http.StatusOK, ask("sync", turn))
	}
	get[api.Thread](f, http.StatusCreated, begin)
}

func TestHiddenSkills(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.bob.ID)
	id := f.chatSkill().ID.String()
	count := func(token string) int {
		return len(get[api.SkillList](f, http.StatusOK, call{
			method: "GET", path: "/v1/skill?limit=100", token: token,
		}).Items)
	}
	before := count(f.alice.Subject)
	for _, hidden := range []bool{true, true, false} {
		if resp := f.do(call{
			method: "PUT", path: "/v1/skill/" + id + "/hidden", token: f.bob.Subject,
			body: map[string]any{"hidden": hidden},
		}); resp.status != http.StatusNoContent {
			t.Fatalf("got %d %s", resp.status, resp.body)
		}
		list := get[api.SkillList](f, http.StatusOK, call{
			method: "GET", path: "/v1/skill/hidden", token: f.bob.Subject,
		})
		if want := map[bool]int{true: 1}[hidden]; len(list.Items) != want || count(f.alice.Subject) != before-want ||
			count(f.stranger.Subject) != before {
			t.Errorf("hidden %v: %+v, Alice has %d of %d", hidden, list.Items, count(f.alice.Subject), before)
		}
	}
}

// TestEmojiAreIcons: the icon of an emoji has a path that every client can load.
func TestEmojiAreIcons(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	made := f.madeSkill(f.alice.Subject, "self", map[string]any{"icon": "👩🏽‍💻"})
	resp := f.do(call{method: "GET", path: made.IconPath})
	if resp.status != http.StatusOK || resp.header.Get("Content-Type") != "image/svg+xml" ||
		!strings.Contains(string(resp.body), ">👩🏽‍💻<") {
		t.Errorf("%s: %d %s", made.IconPath, resp.status, resp.body)
	}
	for _, path := range []string{"/icons/emoji/3c.svg", "/icons/emoji/x.svg", "/icons/emoji/1F4CA.svg", "/icons/emoji/"} {
		if resp := f.do(call{method: "GET", path: path}); resp.header.Get("Content-Type") == "image/svg+xml" {
			t.Errorf("%s is an icon: %s", path, resp.body)
		}
	}
}

// TestSkillsAsFiles: exported skills can be read again.
func TestSkillsAsFiles(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	made := f.madeSkill(f.alice.Subject, "self", map[string]any{"icon": "🧵", "keywords": []string{"糸"}})
	resp := f.do(call{method: "GET", path: "/v1/skill/" + made.ID.String() + "/export", token: f.alice.Subject})
	if resp.status != http.StatusOK || resp.header.Get("Content-Type") != "application/yaml" {
		t.Fatalf("got %d %s", resp.status, resp.body)
	}
	read := get[api.SkillContentList](f, http.StatusOK, call{
		method: "POST", path: "/v1/skill/import", token: f.alice.Subject,
		body: map[string]any{"yaml": string(resp.body)},
	})
	if len(read.Items) != 1 || read.Items[0].Name != made.Content.Name || read.Items[0].Prompt != made.Content.Prompt ||
		read.Items[0].CategoryID != made.Content.CategoryID {
		t.Errorf("got %+v", read.Items)
	}
}
