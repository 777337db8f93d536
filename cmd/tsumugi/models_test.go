package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
)

// TestR95_ChosenModelOfAKilledServer kills a server during an answer of a model that an administrator has allowed and a
// member has chosen. The restarted server asks the same model of the second provider, with the same key and fields.
func TestR95_ChosenModelOfAKilledServer(t *testing.T) {
	t.Parallel()
	inside, outside := llmtest.NewProvider(t), llmtest.NewProvider(t)
	reached := make(chan struct{})
	outside.Add(llmtest.Text("途中"), llmtest.Reached(reached), llmtest.Stall())
	outside.Add(llmtest.Answer("社外の回答")...)
	file := filepath.Join(t.TempDir(), "models.yaml")
	if err := os.WriteFile(file, []byte(`
default: standard
providers:
  - {name: 社内, base_url: "`+inside.URL()+`", models: [{id: standard, name: 標準}]}
  - name: 社外
    base_url: "`+outside.URL()+`"
    api_key: ${CLOUD_KEY}
    models:
      - {id: cloud, model: big-1, name: クラウド, thinking: switch, thinking_on: {reasoning_effort: high}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	data, environ := filepath.Join(t.TempDir(), "data"), []string{"TSUMUGI_MODELS=" + file, "CLOUD_KEY=sk-cloud"}
	first := start(t, data, environ...)
	allowed := []map[string]any{
		{"id": "standard", "allowed": true, "name": "", "note": ""},
		{"id": "cloud", "allowed": true, "name": "", "note": ""},
	}
	if status := first.json(t, "PUT", "/v1/organization/model", first.signIn(t, "admin@demo.example"),
		map[string]any{"default_id": "standard", "models": allowed}, nil); status != http.StatusOK {
		t.Fatalf("got %d", status)
	}
	token := first.signIn(t, "user@demo.example")
	ask := map[string]any{
		"request_id": uuid.NewString(), "thread_id": first.thread(t, token), "content": "答えて", "model_id": "cloud",
		"thinking": true,
	}
	if status := first.json(t, "POST", "/v1/message/async", token, ask, nil); status != http.StatusAccepted {
		t.Fatalf("got %d", status)
	}
	<-reached
	_ = first.end(t, syscall.SIGKILL)

	second := start(t, data, environ...)
	var exchange struct {
		Answer struct {
			message

			ModelID   string `json:"model_id"`
			ModelName string `json:"model_name"`
		}
	}
	token = second.signIn(t, "user@demo.example")
	second.json(t, "POST", "/v1/message/sync", token, ask, &exchange)
	if got := exchange.Answer; got.Content != "社外の回答" || got.ModelID != "cloud" || got.ModelName != "クラウド" {
		t.Errorf("answered %+v", got)
	}
	asked := 0
	for _, request := range outside.Requests() {
		if request.Title {
			continue
		}
		asked++
		if request.Model != "big-1" || request.Header.Get("Authorization") != "Bearer sk-cloud" ||
			!strings.Contains(string(request.Body), `"reasoning_effort":"high"`) {
			t.Errorf("asked %s with %v", request.Body, request.Header)
		}
	}
	if asked != 2 || len(inside.Requests()) != 0 {
		t.Errorf("the second provider was asked %d times, the first one %d times", asked, len(inside.Requests()))
	}
	var usage struct {
		Items []struct {
			ModelID  string `json:"model_id"`
			Messages int
		}
	}
	second.json(t, "GET", "/v1/contract/usage/model", second.signIn(t, "admin@demo.example"), nil, &usage)
	if len(usage.Items) != 1 || usage.Items[0].ModelID != "cloud" || usage.Items[0].Messages != 1 {
		t.Errorf("counted %+v", usage)
	}
}
