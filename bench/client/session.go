package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// renewAfter is the age at which a token, which is good for an hour, is replaced.
const renewAfter = 30 * time.Minute

// Session is a person who is signed in. It is safe for concurrent use.
type Session struct {
	URL     string // Of the server, without a slash at the end.
	Address string // Host and port of it.

	email, password string
	client          *http.Client
	skill           string // Id of a skill to chat with.

	mu     sync.Mutex
	token  string    // Guarded by mu.
	signed time.Time // Guarded by mu.
}

// SignIn signs somebody in by the user pool's protocol. The server is reached by plain HTTP.
func SignIn(ctx context.Context, server, email, password string) (*Session, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "http" || u.Host == "" || (u.Path != "" && u.Path != "/") {
		return nil, fmt.Errorf("%q is no URL such as http://127.0.0.1:8080", server)
	}
	s := &Session{
		URL: "http://" + u.Host, Address: u.Host, email: email, password: password,
		client: &http.Client{Timeout: time.Minute, Transport: &http.Transport{
			MaxIdleConns: 64, MaxIdleConnsPerHost: 64, DisableCompression: true,
		}},
	}
	if u.Port() == "" {
		s.Address += ":80"
	}
	if _, err := s.Token(ctx); err != nil {
		return nil, err
	}
	return s, s.findSkill(ctx)
}

// Close ends the connections.
func (s *Session) Close() { s.client.CloseIdleConnections() }

// Token returns a token that is good for a while.
func (s *Session) Token(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.token != "" && time.Since(s.signed) < renewAfter {
		return s.token, nil
	}
	var way struct {
		ClientID string `json:"client_id"`
		Endpoint string `json:"endpoint"`
	}
	if err := s.do(ctx, http.MethodPost, "/v1/auth-type", nil, map[string]string{"email": s.email}, &way); err != nil {
		return "", err
	}
	var signedIn struct{ AuthenticationResult struct{ IdToken string } } //nolint:revive // The protocol's name.
	err := s.do(ctx, http.MethodPost, way.Endpoint, map[string]string{
		"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "AWSCognitoIdentityProviderService.InitiateAuth",
	}, map[string]any{
		"AuthFlow": "USER_PASSWORD_AUTH", "ClientId": way.ClientID,
		"AuthParameters": map[string]string{"USERNAME": s.email, "PASSWORD": s.password},
	}, &signedIn)
	if err == nil && signedIn.AuthenticationResult.IdToken == "" {
		err = errors.New("signing in asks for more than a password")
	}
	if err != nil {
		return "", err
	}
	s.token, s.signed = signedIn.AuthenticationResult.IdToken, time.Now()
	return s.token, nil
}

func (s *Session) findSkill(ctx context.Context) error {
	var skills struct {
		Items []struct {
			ID          string `json:"id"`
			FormType    string `json:"form_type"`
			Unavailable string `json:"unavailable_reason"`
		} `json:"items"`
	}
	if err := s.Call(ctx, http.MethodGet, "/v1/skill?limit=100", nil, &skills); err != nil {
		return err
	}
	for _, skill := range skills.Items {
		if skill.FormType == "chat" && skill.Unavailable == "" {
			s.skill = skill.ID
			return nil
		}
	}
	return errors.New("there is no skill to chat with")
}

// Thread makes a new thread to chat in and returns its id. It has a title, so that the model is not asked for one.
func (s *Session) Thread(ctx context.Context) (string, error) {
	var thread struct {
		ID string `json:"id"`
	}
	err := s.Call(ctx, http.MethodPost, "/v1/thread", map[string]string{"skill_id": s.skill, "title": "計測"}, &thread)
	return thread.ID, err
}

// Message is an answer as it is stored.
type Message struct {
	ID      string `json:"id"`
	Role    string `json:"role"`
	Content string `json:"content"`
	Status  string `json:"status"`
}

// Ask asks a question in a thread and returns the id of the answer, which is written meanwhile.
func (s *Session) Ask(ctx context.Context, thread, requestID, question string) (string, error) {
	var exchange struct{ Answer Message }
	err := s.Call(ctx, http.MethodPost, "/v1/message/async",
		map[string]string{"request_id": requestID, "thread_id": thread, "content": question}, &exchange)
	return exchange.Answer.ID, err
}

// Messages returns the newest messages of a thread, the newest first.
func (s *Session) Messages(ctx context.Context, thread string) ([]Message, error) {
	var list struct{ Items []Message }
	err := s.Call(ctx, http.MethodGet, "/v1/message?thread_id="+thread, nil, &list)
	return list.Items, err
}

// Call makes a call of the API with a JSON body, nil for none, and decodes its answer, nil for none. Another status than 2xx
// is a *StatusError.
func (s *Session) Call(ctx context.Context, method, path string, body, answer any) error {
	token, err := s.Token(ctx)
	if err != nil {
		return err
	}
	return s.do(ctx, method, path, map[string]string{"Authorization": "Bearer " + token}, body, answer)
}

func (s *Session) do(ctx context.Context, method, path string, header map[string]string, body, answer any) error {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return err
		}
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err = io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %w", method, path, &StatusError{resp.StatusCode, resp.Header.Get("Retry-After"), string(text)})
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(text, answer)
}
