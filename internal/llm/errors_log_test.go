package llm_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/internal/llm"
)

// TestErrorsDoNotQuoteTheQuestion makes providers quote the question in their errors: the log has only the kind of
// error, and the text only of errors about the account.
func TestErrorsDoNotQuoteTheQuestion(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		logged string
		secret string
	}{
		"a request": {
			http.StatusBadRequest, `{"error":{"message":"invalid prompt: 社外秘の質問","type":"invalid_request_error",` +
				`"code":"bad"}}`,
			"invalid_request_error", "社外秘",
		},
		"in the stream": {
			http.StatusOK, "data: {\"error\":{\"message\":\"社外秘の質問 is too long\",\"type\":\"context\"}}\n\n", "context",
			"社外秘",
		},
		"no JSON": {http.StatusInternalServerError, "社外秘の質問", "500", "社外秘"},
		"the model": {
			http.StatusNotFound, `{"error":{"message":"model x was not found","type":"not_found"}}`,
			"model x was not found", "社外秘",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				w.WriteHeader(c.status)
				_, _ = fmt.Fprint(w, c.body)
			}))
			defer provider.Close()
			client, err := llm.NewClient(llm.Config{BaseURL: provider.URL + "/v1", Model: "x", MaxRetries: -1})
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.Stream(t.Context(), llm.Request{Messages: []llm.Message{{
				Role:    llm.RoleUser,
				Content: "社外秘の質問",
			}}}, func(string) {})
			if err == nil || !strings.Contains(err.Error(), c.logged) || strings.Contains(err.Error(), c.secret) {
				t.Errorf("got %v", err)
			}
		})
	}
}
