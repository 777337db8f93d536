package client_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tsumugi-ai/tsumugi/bench/client"
)

func TestSignIn(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	answer := func(pattern, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
	}
	answer("POST /v1/auth-type", `{"client_id":"c","endpoint":"/pool/"}`)
	mux.HandleFunc("POST /pool/", func(w http.ResponseWriter, r *http.Request) {
		var body struct{ AuthParameters map[string]string }
		if json.NewDecoder(r.Body).Decode(&body) != nil || body.AuthParameters["PASSWORD"] != "right" {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		_, _ = w.Write([]byte(`{"AuthenticationResult":{"IdToken":"token"}}`))
	})
	answer("GET /v1/skill", `{"items":[{"id":"form","form_type":"form"},{"id":"off","form_type":"chat","unavailable_reason":"x"},{"id":"s","form_type":"chat"}]}`)
	mux.HandleFunc("POST /v1/thread", func(w http.ResponseWriter, r *http.Request) {
		var body map[string]string
		if json.NewDecoder(r.Body).Decode(&body) != nil || body["skill_id"] != "s" || r.Header.Get("Authorization") != "Bearer token" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = w.Write([]byte(`{"id":"t"}`))
	})
	server := httptest.NewServer(mux)
	defer server.Close()
	s, err := client.SignIn(t.Context(), server.URL, "user@demo.example", "right")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if thread, err := s.Thread(t.Context()); err != nil || thread != "t" {
		t.Errorf("%q %v", thread, err)
	}
	var status *client.StatusError
	if _, err := client.SignIn(t.Context(), server.URL, "user@demo.example", "wrong"); !errors.As(err, &status) || status.Status != http.StatusBadRequest {
		t.Errorf("a wrong password: %v", err)
	}
	for _, bad := range []string{"127.0.0.1:8080", "https://example.com", "http://example.com/app"} {
		if _, err := client.SignIn(t.Context(), bad, "", ""); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}
