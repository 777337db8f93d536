package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
)

// The demo user who asks.
const (
	demoUser     = "user@demo.example"
	demoPassword = "Tsumugi-Bench-1" //nolint:gosec // Of a database that lives as long as the run.
)

// product is Tsumugi as people run it, with a database of its own, and the model that it asks.
type product struct {
	model    *process
	server   *process
	modelURL string // With /v1.
	url      string
	token    string
	skill    string // Id of a skill to chat with.
	client   *http.Client
}

// startProduct starts both on free ports and signs the demo user in.
func startProduct(ctx context.Context, b *bench) (*product, error) {
	p := &product{client: &http.Client{Transport: &http.Transport{
		MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024, DisableCompression: true,
	}}}
	if err := p.start(ctx, b); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

func (p *product) start(ctx context.Context, b *bench) error {
	var err error
	if p.model, err = startProcess(ctx, b.dir, "fakemodel", nil, b.fakemodel, "--listen=127.0.0.1:0"); err != nil {
		return err
	}
	if p.modelURL, err = p.model.await(`(http://\S+)`); err != nil {
		return err
	}
	p.model.drain()
	if p.server, err = startProcess(ctx, b.dir, "tsumugi", []string{
		"TSUMUGI_DEMO_PASSWORD=" + demoPassword, "OPENAI_BASE_URL=" + p.modelURL, "OPENAI_API_KEY=bench", "DATABASE_URL=",
		"TSUMUGI_PUBLIC_URL=", "TSUMUGI_DEMO=true", "OPENAI_FALLBACK_MODEL=", "HTTP_PROXY=", "http_proxy=",
	}, b.tsumugi, "serve", "--listen=127.0.0.1:0", "--data="+filepath.Join(b.dir, "data")); err != nil {
		return err
	}
	if p.url, err = p.server.await(`(http://127\.0\.0\.1:\d+)`); err != nil {
		return err
	}
	if _, err := p.server.await(`(Ctrl-C)`); err != nil {
		return err
	}
	p.server.drain()
	return p.signIn(ctx)
}

func (p *product) stop() {
	for _, server := range []*process{p.server, p.model} {
		if server != nil {
			server.stop()
		}
	}
	p.client.CloseIdleConnections()
}

func (p *product) signIn(ctx context.Context) error {
	var way struct {
		ClientID string `json:"client_id"`
		Endpoint string `json:"endpoint"`
	}
	if err := p.call(ctx, http.MethodPost, "/v1/auth-type", nil, map[string]string{"email": demoUser}, &way); err != nil {
		return err
	}
	var signedIn struct{ AuthenticationResult struct{ IdToken string } } //nolint:revive // The protocol's name.
	err := p.call(ctx, http.MethodPost, way.Endpoint, map[string]string{
		"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "AWSCognitoIdentityProviderService.InitiateAuth",
	}, map[string]any{
		"AuthFlow": "USER_PASSWORD_AUTH", "ClientId": way.ClientID,
		"AuthParameters": map[string]string{"USERNAME": demoUser, "PASSWORD": demoPassword},
	}, &signedIn)
	if err != nil {
		return err
	}
	p.token = signedIn.AuthenticationResult.IdToken
	var skills struct {
		Items []struct {
			ID          string `json:"id"`
			FormType    string `json:"form_type"`
			Unavailable string `json:"unavailable_reason"`
		} `json:"items"`
	}
	if err := p.call(ctx, http.MethodGet, "/v1/skill?limit=100", nil, nil, &skills); err != nil {
		return err
	}
	for _, s := range skills.Items {
		if s.FormType == "chat" && s.Unavailable == "" {
			p.skill = s.ID
			return nil
		}
	}
	return errors.New("there is no skill to chat with")
}

// thread makes a new thread and returns its id.
func (p *product) thread(ctx context.Context) (string, error) {
	var thread struct {
		ID string `json:"id"`
	}
	err := p.call(ctx, http.MethodPost, "/v1/thread", nil, map[string]string{"skill_id": p.skill}, &thread)
	return thread.ID, err
}

// request makes a call of the API, signed in once there is a token.
func (p *product) request(ctx context.Context, method, path string, header map[string]string, body any) (*http.Request, error) {
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	if body == nil {
		text = nil
	}
	req, err := http.NewRequestWithContext(ctx, method, p.url+path, bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if p.token != "" {
		req.Header.Set("Authorization", "Bearer "+p.token)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	return req, nil
}

// call makes a call and reads its answer.
func (p *product) call(ctx context.Context, method, path string, header map[string]string, body, answer any) error {
	req, err := p.request(ctx, method, path, header, body)
	if err != nil {
		return err
	}
	resp, err := p.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return err
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	return json.Unmarshal(text, answer)
}
