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

// DecodeForm parses the form of an OAuth client, or returns the code of the error.
func DecodeForm(r *http.Request) (url.Values, fault.Code) {
	form, err := decodeForm(httptest.NewRecorder(), r)
	return form, fault.CodeOf(err)
}
