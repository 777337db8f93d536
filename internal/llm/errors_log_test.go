package llm_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestErrorsDoNotQuoteTheKeyOrTheQuestion: providers repeat the key and the question in every text of their errors. The
// error and the log contain only the status and known types and codes.
func TestErrorsDoNotQuoteTheKeyOrTheQuestion(t *testing.T) {
	t.Parallel()
	const (
		key      = "sk-proj-abcdefghijklmnopqrstuvwxyz"
		question = "社外秘の質問"
	)
	quoting := fmt.Sprintf(`{"error":{"message":"%[1]s: %[2]s","type":"%[1]s","code":"%[2]s","param":"%[1]s"}}`, key,
		question)
	type failure struct {
		status int
		body   string
		logged string // Expected in the log for operators.
	}
	cases := map[string]failure{
		"in the stream": {http.StatusOK, "data: " + quoting + "\n\n", "other"},
		"an event":      {http.StatusOK, "event: error\ndata: " + quoting + "\n\n", "other"},
		"no JSON":       {http.StatusInternalServerError, key + question, "500"},
		"a text":        {http.StatusNotFound, `{"error":"` + key + question + `"}`, "404"},
		"a known type": {
			http.StatusUnauthorized, `{"error":{"message":"Incorrect API key provided: ` + key +
				`","type":"invalid_request_error","code":"invalid_api_key"}}`, "invalid_api_key",
		},
	}
	for _, status := range []int{400, 401, 402, 403, 404, 413, 429, 500, 503} {
		cases[fmt.Sprint("status ", status)] = failure{status, quoting, fmt.Sprint("status ", status)}
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				w.Header().Set("Retry-After", "0")
				w.WriteHeader(c.status)
				_, _ = fmt.Fprint(w, c.body)
			}))
			defer provider.Close()
			var log bytes.Buffer
			client, err := llm.NewClient(llm.Config{
				BaseURL: provider.URL + "/v1", APIKey: key, Model: "x", MaxRetries: 1,
				Logger: slog.New(slog.NewTextHandler(&log, nil)),
			})
			must.Succeed(t, err)
			_, err = client.Stream(t.Context(), llm.Request{Messages: []llm.Message{{
				Role: llm.RoleUser, Content: question,
			}}}, func(string) {})
			if err == nil || !strings.Contains(err.Error(), c.logged) {
				t.Fatalf("got %v", err)
			}
			for _, secret := range []string{key[:12], question[:9]} {
				if strings.Contains(err.Error(), secret) || strings.Contains(log.String(), secret) {
					t.Errorf("%q is in the error %v or in the log %s", secret, err, log.String())
				}
			}
		})
	}
}
