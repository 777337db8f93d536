package api

import (
	"net/http"
	"net/http/httptest"
	"net/url"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
)

// Unexported parts that the tests look into.
var (
	Bearer        = bearer
	FindAddress   = findAddress
	ParseLiveAuth = parseLiveAuth
)

// ParseCompletion reads the body of a request for a completion, and returns the number of its turns.
func ParseCompletion(body []byte) (turns int, err error) {
	req, err := parseCompletion(body)
	return len(req.turns), err
}

// DecodeForm reads the form of an OAuth client, or returns the code of its refusal.
func DecodeForm(r *http.Request) (url.Values, fault.Code) {
	form, err := decodeForm(httptest.NewRecorder(), r)
	return form, fault.CodeOf(err)
}
