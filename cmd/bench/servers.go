package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
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
	address  string        // Of the server.
	took     time.Duration // From starting the server to being ready.
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
	if p.model, p.modelURL, err = startModel(ctx, b); err != nil {
		return err
	}
	limits, err := raisedLimits(ctx, b.tsumugi)
	if err != nil {
		return err
	}
	began := time.Now()
	if p.server, err = startProcess(ctx, b.dir, "tsumugi", append(limits,
		"TSUMUGI_DEMO_PASSWORD="+demoPassword, "OPENAI_BASE_URL="+p.modelURL, "OPENAI_API_KEY=bench", "DATABASE_URL=",
		"TSUMUGI_PUBLIC_URL=", "TSUMUGI_DEMO=true", "OPENAI_FALLBACK_MODEL=", "HTTP_PROXY=", "http_proxy=",
	), b.tsumugi, "serve", "--listen=127.0.0.1:0", "--data="+filepath.Join(b.dir, "data")); err != nil {
		return err
	}
	if p.url, err = p.server.await(`(http://127\.0\.0\.1:\d+)`); err != nil {
		return err
	}
	if _, err := p.server.await(`(Ctrl-C)`); err != nil {
		return err
	}
	p.address = hostOf(p.url)
	p.server.drain()
	if err := p.ready(ctx); err != nil {
		return err
	}
	p.took = time.Since(began)
	return p.signIn(ctx)
}

// startModel starts the scripted model on a free port. The URL ends in /v1.
func startModel(ctx context.Context, b *bench) (model *process, url string, err error) {
	if model, err = startProcess(ctx, b.dir, "fakemodel", nil, b.fakemodel, "--listen=127.0.0.1:0"); err != nil {
		return nil, "", err
	}
	if url, err = model.await(`(http://\S+)`); err != nil {
		model.stop()
		return nil, "", err
	}
	model.drain()
	return model, url, nil
}

// startNode starts the peer on Node.
func startNode(ctx context.Context, b *bench, modelURL string) (server *process, address string, err error) {
	if server, err = startProcess(ctx, b.dir, "aisdk", []string{"NODE_ENV=production"}, "node", filepath.Join(b.aisdk, "server.mjs"), modelURL); err != nil {
		return nil, "", err
	}
	server.grace = 5 * time.Second
	if address, err = server.await(`"address":"([^"]+)"`); err != nil {
		server.stop()
		return nil, "", err
	}
	server.drain()
	return server, address, nil
}

// hostOf returns the address in a URL of a server on this machine.
func hostOf(url string) string {
	address, _, _ := strings.Cut(strings.TrimPrefix(url, "http://"), "/")
	return address
}

// raisedLimits returns the settings that let one person have all chats of a run, as far as the program knows them.
func raisedLimits(ctx context.Context, program string) ([]string, error) {
	help, err := exec.CommandContext(ctx, program, "serve", "--help").Output()
	var settings []string
	for _, name := range []string{"TSUMUGI_MAX_STREAMS_PER_USER", "TSUMUGI_MAX_GENERATIONS", "TSUMUGI_MAX_STREAMS"} {
		if bytes.Contains(help, []byte("$"+name)) {
			settings = append(settings, name+"=20000")
		}
	}
	return settings, err
}

// ready waits until the server takes traffic.
func (p *product) ready(ctx context.Context) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, p.url+"/readyz", nil)
		if err != nil {
			return err
		}
		resp, err := p.client.Do(req)
		if err != nil {
			return err
		}
		_ = resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			return nil
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
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

// thread makes a new thread and returns its id. It has a title, since the peers make none.
func (p *product) thread(ctx context.Context) (string, error) {
	var thread struct {
		ID string `json:"id"`
	}
	err := p.call(ctx, http.MethodPost, "/v1/thread", nil, map[string]string{"skill_id": p.skill, "title": "計測"}, &thread)
	return thread.ID, err
}

// threads makes so many new threads, some at a time.
func (p *product) threads(ctx context.Context, n int) ([]string, error) {
	ids, failed := make([]string, n), make([]error, n)
	var next atomic.Int64
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				ids[i], failed[i] = p.thread(ctx)
			}
		})
	}
	all.Wait()
	return ids, errors.Join(failed...)
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
