// Package inproc serves HTTP requests with a handler in the same process, without a socket.
//
// It has one http.RoundTripper and imports only the standard library. Responses stream: the client can read written
// data at once, and the handler is notified when the reader closes the body or its context ends, as on a connection.
package inproc

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
)

// Transport serves each request with Handler.
//
// The handler's goroutine belongs to the response. The request's context ends when the client's context ends or the
// body is closed; every later write fails.
type Transport struct {
	Handler http.Handler
}

// RoundTrip implements http.RoundTripper. It returns when the handler has sent its header.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancel(req.Context())
	served := req.Clone(ctx)
	served.Body = cmp.Or[io.ReadCloser](served.Body, http.NoBody)
	served.RequestURI = req.URL.RequestURI()
	served.RemoteAddr = "in-process"
	served.Host = req.URL.Host

	reader, writer := io.Pipe()
	context.AfterFunc(ctx, func() { _ = reader.CloseWithError(ctx.Err()) })
	w := &responseWriter{header: make(http.Header), pipe: writer, sent: make(chan struct{})}
	go t.serve(w, served)

	select {
	case <-w.sent:
	case <-ctx.Done():
		cancel()
		return nil, ctx.Err()
	}
	if w.failure != nil {
		cancel()
		return nil, w.failure
	}
	return &http.Response{
		Status: strconv.Itoa(w.status) + " " + http.StatusText(w.status), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sentHeader, Body: &body{PipeReader: reader, cancel: cancel}, ContentLength: -1, Request: req,
	}, nil
}

// serve runs the handler. A panic aborts the response, as in net/http's server.
func (t *Transport) serve(w *responseWriter, req *http.Request) {
	defer func() {
		_ = req.Body.Close()
		if p := recover(); p != nil {
			w.abort(fmt.Errorf("inproc: handler aborted: %v: %w", p, io.ErrUnexpectedEOF))
			return
		}
		w.WriteHeader(http.StatusOK)
		_ = w.pipe.Close()
	}()
	t.Handler.ServeHTTP(w, req)
}

// body notifies the handler when its reader closes it.
type body struct {
	*io.PipeReader
	cancel context.CancelFunc
}

func (b *body) Close() error {
	b.cancel()
	return b.PipeReader.Close()
}

// responseWriter belongs to the handler's goroutine until sent is closed; the fields below sent then belong to the
// client.
type responseWriter struct {
	header http.Header
	pipe   *io.PipeWriter
	once   sync.Once
	sent   chan struct{} // Closed when the client may read the fields below.

	status     int
	sentHeader http.Header
	failure    error
}

func (w *responseWriter) Header() http.Header { return w.header }

func (w *responseWriter) WriteHeader(status int) {
	w.once.Do(func() {
		w.status = status
		w.sentHeader = w.header.Clone()
		close(w.sent)
	})
}

// Write implements io.Writer. It returns when the client has read p or has closed the body.
func (w *responseWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.pipe.Write(p)
}

// Flush implements http.Flusher. Writes are not buffered; only the header may be pending.
func (w *responseWriter) Flush() { w.WriteHeader(http.StatusOK) }

func (w *responseWriter) abort(err error) {
	w.once.Do(func() {
		w.failure = err
		close(w.sent)
	})
	_ = w.pipe.CloseWithError(err)
}
