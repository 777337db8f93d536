package api

import (
	"net/http"
	"net/http/httptest"
	"net/url"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Exports for the tests.
var (
	Bearer        = bearer
	FindAddress   = findAddress
	ParseLiveAuth = parseLiveAuth
)

// ParseCompletion parses the body of a request for a completion, and returns the number of its turns.
func ParseCompletion(body []byte) (turns int, err error) {
	req, err := parseCompletion(body)
	return len(req.turns), err
}

// DecodeForm parses the form of an OAuth client, or returns the code of the error.
func DecodeForm(r *http.Request) (url.Values, fault.Code) {
	form, err := decodeForm(httptest.NewRecorder(), r)
	return form, fault.CodeOf(err)
}
