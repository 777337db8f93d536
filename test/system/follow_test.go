package system_test

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// follower reads one answer as described in docs/streaming.md and reconnects until the answer is complete. It checks
// each event. It belongs to one goroutine, which also calls the hooks.
type follower struct {
	client *client
	where  func() string // Returns the base URL of the next connection.
	method string        // POST asks a question and follows its answer, GET follows an answer by id.
	path   string
	body   any

	onEvent func(e event)        // Called after each event; may be nil.
	onDrop  dropHook             // May be nil.
	onBegin func(*http.Response) // Called when a response begins; may be nil.
	silence time.Duration        // A connection without data for this long is closed. 0 is 40 s.

	continues bool // The model continues the text of an earlier run, so that a reset may be missing.

	messageID   string
	lastID      string // The cursor.
	run, first  int    // The current run, and the first one read.
	text        []byte
	needsReset  bool   // Part of the text belongs to an earlier run: the server must reset or continue it.
	ended       string // The terminal event.
	done        bool   // [DONE]
	retry       time.Duration
	connections int
	resets      int
}

// dropHook is called when a connection has ended without [DONE]. pause is the time that the server asked the client to
// wait.
type dropHook func(err error, pause time.Duration)

// event is one event of a stream.
type event struct {
	id   string
	data string
	chunk
}

// chunk is the data of an event.
type chunk struct {
	Type      string
	MessageID string `json:"messageId"`
	Delta     string
	ErrorText string `json:"errorText"`
	Code      string
	Metadata  struct{ Run int } `json:"messageMetadata"`
	Data      json.RawMessage
}

// errBroken is a violation of the protocol by a server.
type errBroken struct{ what string }

func (e *errBroken) Error() string { return "the promise is broken: " + e.what }

func broken(format string, args ...any) error { return &errBroken{fmt.Sprintf(format, args...)} }

// follow returns nil when the answer is complete. It returns an error if a server violates the protocol or the context
// ends.
func (f *follower) follow(ctx context.Context) error {
	for !f.done {
		err := f.connect(ctx)
		if _, final := errors.AsType[*errBroken](err); final {
			return fmt.Errorf("message %s, cursor %s, connection %d: %w", f.messageID, f.lastID, f.connections, err)
		}
		if f.done {
			break
		}
		pause := f.retry
		if p, ok := errors.AsType[*problem](err); ok {
			if !p.repeatable() {
				return fmt.Errorf("message %s: %w", f.messageID, p)
			}
			pause = p.retryAfter()
		}
		if pause == 0 {
			pause = 500 * time.Millisecond // The server has not sent a time yet.
		}
		if f.onDrop != nil {
			f.onDrop(err, pause)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return fmt.Errorf("message %s: cursor %s after %d connections: %w; last: %w", f.messageID, f.lastID,
				f.connections, ctx.Err(), err)
		}
	}
	return nil
}

// connect makes the call once and reads the response.
func (f *follower) connect(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := f.client.newRequest(ctx, f.method, f.where()+f.path, f.body)
	if err != nil {
		return err
	}
	if f.lastID != "" {
		req.Header.Set("Last-Event-ID", f.lastID)
	}
	f.silence = cmp.Or(f.silence, 40*time.Second)
	watchdog := time.AfterFunc(f.silence, cancel)
	defer watchdog.Stop()
	f.connections++
	resp, err := f.client.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if f.onBegin != nil {
		f.onBegin(resp)
	}
	switch {
	case resp.StatusCode == http.StatusNoContent && f.method == http.MethodGet:
		f.done = true // The answer is complete and the client has all of its text.
		return nil
	case resp.StatusCode != http.StatusOK:
		return readProblem(resp)
	case resp.Header.Get("Content-Type") != "text/event-stream":
		return broken("a stream of type %q", resp.Header.Get("Content-Type"))
	}
	return f.read(&watched{resp.Body, func() { watchdog.Reset(f.silence) }})
}

// watched is a reader that calls alive after every read of at least one byte.
type watched struct {
	io.Reader
	alive func()
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.alive()
	}
	return n, err
}

// read processes events until the stream ends. An event is complete when its blank line has arrived.
func (f *follower) read(body io.Reader) error {
	lines := bufio.NewReader(body)
	var id, data string
	first := true
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return err
		}
		switch field, value, _ := strings.Cut(string(bytes.TrimRight(line, "\r\n")), ":"); field {
		case "id":
			id = strings.TrimPrefix(value, " ")
		case "data":
			data += strings.TrimPrefix(value, " ")
		case "retry":
			ms, err := strconv.Atoi(strings.TrimSpace(value))
			if err != nil {
				return broken("retry %q", value)
			}
			f.retry = time.Duration(ms) * time.Millisecond
		case "":
			if value != "" || data == "" {
				continue // A comment, or a blank line without an event.
			}
			e := event{id: id, data: data}
			id, data = "", ""
			if err := f.take(&e, first); err != nil {
				return err
			}
			first = false
			if f.onEvent != nil {
				f.onEvent(e)
			}
		}
	}
}

func (f *follower) take(e *event, first bool) error {
	if f.done {
		return broken("%s after [DONE]", e.data)
	}
	if e.data == "[DONE]" {
		if f.ended == "" {
			return broken("[DONE] without a terminal event")
		}
		f.done = true
		return nil
	}
	if err := json.Unmarshal([]byte(e.data), &e.chunk); err != nil {
		return broken("%s: %v", e.data, err)
	}
	if first != (e.Type == "start") {
		return broken("%s as event of a connection, the first: %v", e.Type, first)
	}
	var err error
	switch e.Type {
	case "start":
		err = f.start(e)
	case "data-reset":
		f.text, f.needsReset, f.ended = nil, false, ""
		f.resets++
	case "text-delta":
		if f.needsReset && !f.continues {
			return broken("a delta of run %d instead of a reset", f.run)
		}
		f.needsReset = false
		f.text = append(f.text, e.Delta...)
		if want := cursor(f.run, len(f.text)); e.id != want {
			err = broken("id %s of a delta, where the text ends at %s", e.id, want)
		}
	case "finish", "abort", "error":
		if f.ended != "" || f.needsReset && !f.continues {
			return broken("%s after %q", e.data, f.ended)
		}
		if f.ended = e.Type; e.id != cursor(f.run, len(f.text)) {
			err = broken("%s has the id %s, where the text ends at %s", e.Type, e.id, cursor(f.run, len(f.text)))
		}
	}
	if e.id != "" {
		f.lastID = e.id
	}
	return err
}

func (f *follower) start(e *event) error {
	if f.messageID != "" && e.MessageID != f.messageID {
		return broken("message %s", e.MessageID)
	}
	if e.id != "" {
		return broken("the id %s on start", e.id)
	}
	if e.Metadata.Run < f.run {
		return broken("run %d after run %d", e.Metadata.Run, f.run)
	}
	f.needsReset = len(f.text) > 0 && e.Metadata.Run != f.run
	// The server repeats a terminal event that was not followed by [DONE].
	f.messageID, f.run, f.ended = e.MessageID, e.Metadata.Run, ""
	f.first = cmp.Or(f.first, f.run)
	return nil
}

// restarted reports whether the answer has been restarted since the client first read it.
func (f *follower) restarted() bool { return f.run > f.first }

func cursor(run, offset int) string { return strconv.Itoa(run) + "-" + strconv.Itoa(offset) }

func digest(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }
