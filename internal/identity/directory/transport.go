package directory

import (
	"bytes"
	"io"
	"net/http"
	"strconv"
)

// InProcess returns a transport that passes requests to a handler in this process. It buffers each response, so it
// suits small ones only.
func InProcess(handler http.Handler) http.RoundTripper { return transport{handler} }

type transport struct{ handler http.Handler }

func (t transport) RoundTrip(req *http.Request) (*http.Response, error) {
	served := req.Clone(req.Context()) // A RoundTripper must not modify the caller's request.
	if served.Host == "" {
		served.Host = served.URL.Host
	}
	if served.Body == nil {
		served.Body = http.NoBody
	}
	defer func() { _ = served.Body.Close() }()
	w := &answer{header: http.Header{}}
	t.handler.ServeHTTP(w, served)
	if err := req.Context().Err(); err != nil {
		return nil, err // As over a network: a canceled request gets no response.
	}
	w.WriteHeader(http.StatusOK)
	return &http.Response{
		Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: io.NopCloser(&w.body), ContentLength: int64(w.body.Len()), Request: req,
	}, nil
}

// answer records the response of a handler.
type answer struct {
	header, sent http.Header
	status       int
	body         bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements http.ResponseWriter. Only the first call counts.
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status, a.sent = status, a.header.Clone()
	}
}

func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}
