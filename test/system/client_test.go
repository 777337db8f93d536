package system_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// The accounts of the demo users and the password that they share.
const (
	demoUser          = "user@demo.example"
	demoAdministrator = "admin@demo.example"
	demoPassword      = "Tsumugi-Demo-1"
)

// client makes calls to the product on behalf of one person. It is safe for concurrent use.
type client struct {
	http  *http.Client
	token string
	skill string // The id of a chat skill.
}

// problem is an error response of the product.
type problem struct {
	Status     int
	Code       string
	Detail     string
	RetryAfter string `json:"-"`
}

func (p *problem) Error() string { return fmt.Sprintf("%d %s: %s", p.Status, p.Code, p.Detail) }

// retryAfter returns the time to wait before the next attempt.
func (p *problem) retryAfter() time.Duration {
	seconds, err := strconv.Atoi(p.RetryAfter)
	if err != nil {
		return time.Second
	}
	return time.Duration(seconds) * time.Second
}

// repeatable reports whether the same call may be repeated: the status is 429, 502 or 503.
func (p *problem) repeatable() bool {
	switch p.Status {
	case http.StatusServiceUnavailable, http.StatusBadGateway, http.StatusTooManyRequests:
		return true
	}
	return false
}

func readProblem(resp *http.Response) error {
	p := &problem{Status: resp.StatusCode, RetryAfter: resp.Header.Get("Retry-After")}
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
	if err != nil {
		return err
	}
	if json.Unmarshal(text, p) != nil || p.Code == "" {
		p.Detail = string(text)
	}
	p.Status = resp.StatusCode
	return p
}

// newRequest creates a request with a JSON body, or without a body if body is nil.
func (c *client) newRequest(ctx context.Context, method, url string, body any) (*http.Request, error) {
	var content io.Reader = http.NoBody
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, url, content)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	return req, nil
}

// call makes one call and decodes the response into into. An error response is returned as a *problem.
func (c *client) call(ctx context.Context, method, url string, body, into any) error {
	req, err := c.newRequest(ctx, method, url, body)
	if err != nil {
		return err
	}
	return c.do(req, into)
}

func (c *client) do(req *http.Request, into any) error {
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		return readProblem(resp)
	}
	if into == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	return json.NewDecoder(resp.Body).Decode(into)
}

// signIn returns a client of the demo user. It can be used with any server.
func signIn(t *testing.T, base string) *client {
	t.Helper()
	return signInAs(t, base, demoUser)
}

// signInAs is signIn for any user with the demo users' password.
func signInAs(t *testing.T, base, email string) *client {
	t.Helper()
	c := &client{http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}}}
	t.Cleanup(c.http.CloseIdleConnections)
	var signedIn struct{ AuthenticationResult struct{ IdToken string } }
	request := map[string]any{
		"AuthFlow": "USER_PASSWORD_AUTH", "ClientId": c.poolClient(t, base),
		"AuthParameters": map[string]string{"USERNAME": email, "PASSWORD": demoPassword},
	}
	mustSoon(t, func() error { return c.callPool(t.Context(), base, "InitiateAuth", request, &signedIn) })
	c.token = signedIn.AuthenticationResult.IdToken
	var skills struct {
		Items []struct {
			ID          string
			FormType    string `json:"form_type"`
			Unavailable string `json:"unavailable_reason"`
		}
	}
	mustSoon(t, func() error { return c.call(t.Context(), http.MethodGet, base+"/v1/skill?limit=100", nil, &skills) })
	for _, s := range skills.Items {
		if s.FormType == "chat" && s.Unavailable == "" {
			c.skill = s.ID
		}
	}
	if c.token == "" || c.skill == "" {
		t.Fatal("signing in failed")
	}
	return c
}

// poolClient returns the app client of the user pool.
func (c *client) poolClient(t *testing.T, base string) string {
	t.Helper()
	var way struct {
		ClientID string `json:"client_id"`
	}
	email := map[string]string{"email": demoUser}
	mustSoon(t, func() error { return c.call(t.Context(), http.MethodPost, base+"/v1/auth-type", email, &way) })
	return way.ClientID
}

// callPool makes one call to the user pool. An error response is returned as a *problem.
func (c *client) callPool(ctx context.Context, base, operation string, body, into any) error {
	req, err := c.newRequest(ctx, http.MethodPost, base+"/pool/", body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	req.Header.Set("X-Amz-Target", "AWSCognitoIdentityProviderService."+operation)
	return c.do(req, into)
}

// mustSoon repeats a call until it succeeds. On a busy machine, the balancer may have no ready server for a moment.
func mustSoon(t *testing.T, call func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
	defer cancel()
	must.Succeed(t, withRetries(ctx, call))
}

func (c *client) thread(t *testing.T, base string) string {
	t.Helper()
	var thread struct{ ID string }
	must.Succeed(t, c.call(t.Context(), http.MethodPost, base+"/v1/thread", map[string]any{"skill_id": c.skill}, &thread))
	return thread.ID
}

// question is a question together with the answer that the scripted model will give.
type question struct {
	RequestID string `json:"request_id"`
	ThreadID  string `json:"thread_id"`
	Content   string `json:"content"`
	want      string
}

// message is a stored message.
type message struct {
	ID           string
	ThreadID     string `json:"thread_id"`
	Role         string
	Content      string
	Status       string
	FinishReason string `json:"finish_reason"`

	ToolCalls []storedCall `json:"tool_calls"`
}

// storedCall is a call of a tool in a complete answer.
type storedCall struct{ ID, Arguments, Status, Result string }

type exchange struct{ Question, Answer message }

// ask stores a question without waiting for its answer.
func (c *client) ask(t *testing.T, base string, q question) exchange {
	t.Helper()
	var e exchange
	must.Succeed(t, c.call(t.Context(), http.MethodPost, base+"/v1/message/async", q, &e))
	return e
}

// messages returns the stored messages of a thread, oldest first.
func (c *client) messages(ctx context.Context, base, threadID string) ([]message, error) {
	var all []message
	for {
		var page struct{ Items []message }
		url := fmt.Sprintf("%s/v1/message?thread_id=%s&limit=100&offset=%d", base, threadID, len(all))
		if err := c.call(ctx, http.MethodGet, url, nil, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Items...)
		if len(page.Items) < 100 {
			break
		}
	}
	for i, j := 0, len(all)-1; i < j; i, j = i+1, j-1 {
		all[i], all[j] = all[j], all[i]
	}
	return all, nil
}

func newID() string { return uuid.Must(uuid.NewV7()).String() }

// withRetries makes a repeatable call and retries it while the response permits that.
func withRetries(ctx context.Context, call func() error) error {
	for {
		err := call()
		p, isProblem := err.(*problem) //nolint:errorlint // It is never wrapped.
		if err == nil || ctx.Err() != nil || (isProblem && !p.repeatable()) {
			return err
		}
		wait := 200 * time.Millisecond
		if isProblem {
			wait = p.retryAfter()
		}
		pause(ctx, wait)
	}
}

// threadWithRetries creates a thread while servers restart.
func (c *client) threadWithRetries(ctx context.Context, where func() string) (id string, err error) {
	var thread struct{ ID string }
	body := map[string]any{"skill_id": c.skill, "request_id": newID()}
	err = withRetries(ctx, func() error { return c.call(ctx, http.MethodPost, where()+"/v1/thread", body, &thread) })
	return thread.ID, err
}

// askWithRetries asks a question in a new thread while servers restart.
func (c *client) askWithRetries(ctx context.Context, t *testing.T, where func() string, a answer) (asked, bool) {
	threadID, err := c.threadWithRetries(ctx, where)
	q := a.in(threadID)
	var e exchange
	if err == nil {
		err = withRetries(ctx, func() error { return c.call(ctx, http.MethodPost, where()+"/v1/message/async", q, &e) })
	}
	if err != nil && ctx.Err() == nil {
		t.Error(err)
	}
	return asked{q, e}, err == nil
}
