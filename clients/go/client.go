// Package tsumugi is a client for a Tsumugi server. It signs in, creates threads, asks questions, and follows answers
// in progress. After a broken connection, it resumes an answer at its position. It never causes a second request to the
// model.
//
//	client := &tsumugi.Client{URL: "https://tsumugi.example.com", Token: tsumugi.Bearer(token)}
//	answer := client.Ask(tsumugi.Question{ThreadID: thread, Content: "経費の精算はいつまでですか。"})
//	for event, err := range answer.Events(ctx) {
//		…
//	}
//
// It imports the standard library only, and no packages of the server.
package tsumugi

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// TokenSource returns a bearer token. If the server rejects the token as expired, the client calls the TokenSource
// again with expired set, and it must return a new token. It must be safe for concurrent use.
type TokenSource func(ctx context.Context, expired bool) (string, error)

// Bearer returns a source of a single token, such as a personal access token, or an id token that does not expire
// during its use.
func Bearer(token string) TokenSource {
	return func(context.Context, bool) (string, error) { return token, nil }
}

// Client makes calls to a server on behalf of one person. It is safe for concurrent use; its fields must not be changed
// after the first call.
type Client struct {
	URL   string      // URL of the server without a trailing slash, such as https://tsumugi.example.com.
	Token TokenSource // Nil for calls without a token.
	// HTTP is nil for http.DefaultClient. Its Timeout also ends streams, which are then resumed.
	HTTP *http.Client
}

// Problem is an error response of the server, a problem document (RFC 9457).
type Problem struct {
	Status    int    `json:"status"`
	Code      string `json:"code"`       // Stable name, such as thread_busy.
	Title     string `json:"title"`      //
	Detail    string `json:"detail"`     // Text for the user, in Japanese.
	RequestID string `json:"request_id"` // Id of the request in the server's log.
	MessageID string `json:"message_id"` // Id of the answer in progress, if a thread is busy.
	// EstimatedTokens is an estimate of the answer's tokens, for the question's AcceptTokens. It is set only with the
	// code confirmation_required.
	EstimatedTokens int           `json:"estimated_tokens"`
	Errors          []FieldError  `json:"errors"` // Errors in the input.
	RetryAfter      time.Duration `json:"-"`      // Wait before a retry; 0 if the server sent none.
}

// FieldError is an error in one field.
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

func (p *Problem) Error() string {
	return fmt.Sprintf("tsumugi: %d %s: %s", p.Status, p.Code, p.Detail)
}

// passing reports whether the same call may succeed later.
func (p *Problem) passing() bool {
	switch p.Status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusBadGateway,
		http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// Call makes an API call with a JSON body and decodes the response into answer. body and answer may be nil. An error
// response is returned as a *Problem.
func (c *Client) Call(ctx context.Context, method, path string, body, answer any) error {
	return c.call(ctx, method, c.URL+path, body, nil, answer)
}

func (c *Client) call(ctx context.Context, method, at string, body any, header http.Header, answer any) error {
	resp, err := c.send(ctx, method, at, body, header)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if answer == nil {
		_, err = io.Copy(io.Discard, resp.Body)
		return err
	}
	return json.NewDecoder(resp.Body).Decode(answer)
}

// send makes a call. If the token has expired, it repeats the call with a new token. A status other than 2xx is
// returned as a *Problem.
func (c *Client) send(ctx context.Context, method, at string, body any, header http.Header) (*http.Response, error) {
	var text []byte
	if body != nil {
		var err error
		if text, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	for expired := false; ; expired = true {
		req, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		for name, values := range header {
			req.Header[name] = values
		}
		if body != nil && req.Header.Get("Content-Type") == "" {
			req.Header.Set("Content-Type", "application/json")
		}
		if err := c.authorize(ctx, req, expired); err != nil {
			return nil, err
		}
		resp, err := c.client().Do(req)
		if err != nil {
			return nil, err
		}
		if resp.StatusCode < http.StatusMultipleChoices {
			return resp, nil
		}
		problem := readProblem(resp)
		if expired || problem.Status != http.StatusUnauthorized || problem.Detail != "jwt expired" {
			return nil, problem
		}
	}
}

func (c *Client) client() *http.Client {
	if c.HTTP == nil {
		return http.DefaultClient
	}
	return c.HTTP
}

// tokenError is a failure to get a token. Unlike after a network error, a retry does not help.
type tokenError struct{ err error }

func (e *tokenError) Error() string { return "tsumugi: no token: " + e.err.Error() }
func (e *tokenError) Unwrap() error { return e.err }

func (c *Client) authorize(ctx context.Context, req *http.Request, expired bool) error {
	if c.Token == nil {
		return nil
	}
	token, err := c.Token(ctx, expired)
	var network *url.Error
	var problem *Problem
	switch {
	case err == nil:
		req.Header.Set("Authorization", "Bearer "+token)
		return nil
	case errors.As(err, &network), errors.As(err, &problem):
		return err
	}
	return &tokenError{err}
}

// problemLimit bounds the body of an error response.
const problemLimit = 64 << 10

func readProblem(resp *http.Response) *Problem {
	defer func() { _ = resp.Body.Close() }()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, problemLimit))
	p := &Problem{}
	if json.Unmarshal(text, p) != nil || p.Code == "" {
		*p = Problem{Code: "http_" + strconv.Itoa(resp.StatusCode), Detail: string(text[:min(len(text), 200)])}
	}
	p.Status = resp.StatusCode
	if seconds, err := strconv.ParseUint(resp.Header.Get("Retry-After"), 10, 16); err == nil {
		p.RetryAfter = time.Duration(seconds) * time.Second
	}
	return p
}

// newRequestID returns a random UUID (RFC 9562, version 4).
func newRequestID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // Never fails.
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}
