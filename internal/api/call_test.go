package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/api/openai"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// document is openapi.yaml. It must not be changed.
var document = sync.OnceValues(func() (*openapi3.T, error) { return openapi3.NewLoader().LoadFromFile("openapi.yaml") })

// documented finds the operation of a request in document. It also validates document.
var documented = sync.OnceValues(func() (routers.Router, error) {
	doc, err := document()
	if err != nil {
		return nil, err
	}
	return legacy.NewRouter(doc)
})

// call is a request of a test. token is the subject of the calling member.
type call struct {
	method, path string
	token        string
	body         any // Nil, a string to send unchanged, or a value to send as JSON.
	header       map[string]string
}

// response is a response whose body was read.
type response struct {
	status int
	header http.Header
	body   []byte
}

// problem decodes the response as a problem.
func (r response) problem(t testing.TB) api.Problem {
	t.Helper()
	var p api.Problem
	if err := json.Unmarshal(r.body, &p); err != nil {
		t.Fatalf("%d is no problem: %s", r.status, r.body)
	}
	var other openai.OpenAIError // For routes in OpenAI's form.
	if err := json.Unmarshal(r.body, &other); err == nil && other.Error.Code != "" {
		p.Status, p.Code, p.Detail = r.status, other.Error.Code, other.Error.Message
		if param := other.Error.Param; param != nil && r.status == http.StatusTooManyRequests {
			p.Limit = *param
		} else if param != nil {
			p.Errors = []api.FieldError{{Field: *param, Message: p.Detail}}
		}
	}
	return p
}

// do makes a call and validates the response against openapi.yaml.
func (f *fixture) do(c call) response {
	f.t.Helper()
	req := f.request(c)
	resp := must.Get(http.DefaultTransport.RoundTrip(req))(f.t)
	defer resp.Body.Close()
	body := must.Get(io.ReadAll(resp.Body))(f.t)
	f.conforms(req, resp, body)
	return response{resp.StatusCode, resp.Header, body}
}

func (f *fixture) request(c call) *http.Request {
	f.t.Helper()
	var body io.Reader
	switch b := c.body.(type) {
	case nil:
	case string:
		body = strings.NewReader(b)
	default:
		encoded := must.Get(json.Marshal(b))(f.t)
		body = bytes.NewReader(encoded)
	}
	req := must.Get(http.NewRequestWithContext(f.t.Context(), c.method, f.url+c.path, body))(f.t)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	for name, value := range c.header {
		req.Header.Set(name, value)
	}
	return req
}

// conforms fails the test if the response of a documented route does not conform to openapi.yaml.
func (f *fixture) conforms(req *http.Request, resp *http.Response, body []byte) {
	f.t.Helper()
	plain := req.Clone(f.t.Context())
	plain.URL.Host, plain.URL.Scheme, plain.Host = "", "", ""
	routes := must.Get(documented())(f.t)
	route, params, err := routes.FindRoute(plain)
	if err != nil || strings.HasPrefix(resp.Header.Get("Content-Type"), "text/") ||
		strings.HasSuffix(resp.Header.Get("Content-Type"), "yaml") ||
		strings.HasSuffix(resp.Header.Get("Content-Type"), "+xml") {
		return
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: plain, PathParams: params,
			Route: route,
		},
		Status: resp.StatusCode, Header: resp.Header,
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	input.SetBodyBytes(body)
	if err := openapi3filter.ValidateResponse(f.t.Context(), input); err != nil {
		f.t.Errorf("%s %s answers what openapi.yaml does not say: %v\n%s", req.Method, req.URL.Path, err, body)
	}
}

// get decodes the response of a call, which must have the given status.
func get[T any](f *fixture, status int, c call) T {
	f.t.Helper()
	resp := f.do(c)
	if resp.status != status {
		f.t.Fatalf("%s %s: %d %s", c.method, c.path, resp.status, resp.body)
	}
	var v T
	must.Succeed(f.t, json.Unmarshal(resp.body, &v))
	return v
}
