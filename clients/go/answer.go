package tsumugi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Cursor is a position in an answer: its run, and the number of bytes of text.
type Cursor struct{ Run, Offset int }

func (c Cursor) String() string { return strconv.Itoa(c.Run) + "-" + strconv.Itoa(c.Offset) }

// parseCursor reads <run>-<offset>.
func parseCursor(id string) (Cursor, bool) {
	run, offset, found := strings.Cut(id, "-")
	r, err := strconv.ParseUint(run, 10, 31)
	o, err2 := strconv.ParseUint(offset, 10, 31)
	return Cursor{int(r), int(o)}, found && err == nil && err2 == nil && r > 0
}

// Event is an event of an answer's stream.
type Event struct {
	// Type is the type of the chunk: "start", "text-delta", "data-reset", "data-step", "source-document", "source-url",
	// "reasoning-delta", "data-title", "finish", "abort" (it was stopped), and others that a newer server may send.
	// Steps, sources, reasoning and the title are repeated on each connection.
	Type string
	// Text is what a text-delta appends to the text. A data-reset means that the text so far must be discarded.
	Text string
	// Cursor is the position after this event.
	Cursor Cursor
	// Chunk is the whole chunk. It is valid until the next event.
	Chunk json.RawMessage
}

// AnswerError means that an answer has failed. Its partial text is kept.
type AnswerError struct {
	Code      string // A stable name, such as model_interrupted.
	Message   string // For the person, in Japanese.
	Retryable bool
}

func (e *AnswerError) Error() string {
	return "tsumugi: the answer failed: " + e.Code + ": " + e.Message
}

// ErrUnreachable means that a question could not be delivered. Repeating it with the same request id is safe.
var ErrUnreachable = errors.New("tsumugi: the server cannot be reached")

// ErrInconsistent means that a stream violates the protocol, even after it was requested again.
var ErrInconsistent = errors.New("tsumugi: the stream makes no sense")

// Answer follows an answer. It belongs to one goroutine.
type Answer struct {
	MessageID, ThreadID, QuestionID string // Known from the start event on.

	// Counters that stay zero with a correct server.
	Gaps    int // Gaps after which the whole text was requested again.
	Repeats int // Events with text that had already arrived, and were skipped.

	client   *Client
	question *Question // Nil for an answer to another client's question.
	path     string
	cursor   Cursor
	distrust bool // The text must be requested from its start.
	ended    bool // finish or abort has arrived.
	done     bool
	retry    time.Duration
	failures int
}

// Ask returns the answer to a question. Nothing is sent before Events or Read is called.
func (c *Client) Ask(q Question) *Answer {
	if q.RequestID == "" {
		q.RequestID = newRequestID()
	}
	return &Answer{client: c, question: &q, path: "/v1/message/stream", retry: firstWait}
}

// Follow returns an answer from its beginning, whether it is complete or not. An unreachable server is retried until
// ctx ends.
func (c *Client) Follow(messageID string) *Answer {
	path := "/v1/message/" + url.PathEscape(messageID) + "/stream"
	return &Answer{client: c, MessageID: messageID, path: path, retry: firstWait}
}

// FollowThread returns the answer that is being written in a thread. If there is none, it ends without an event.
func (c *Client) FollowThread(threadID string) *Answer {
	return &Answer{client: c, path: "/v1/thread/" + url.PathEscape(threadID) + "/stream", retry: firstWait}
}

// Read follows the answer to its end and returns its text. With an error it returns the text so far.
func (a *Answer) Read(ctx context.Context) (string, error) {
	var text strings.Builder
	for event, err := range a.Events(ctx) {
		if err != nil {
			return text.String(), err
		}
		if event.Type == "data-reset" {
			text.Reset()
		}
		text.WriteString(event.Text)
	}
	return text.String(), nil
}

const (
	firstWait   = 1800 * time.Millisecond // Until the server sends one.
	longestWait = 10 * time.Second
	handOver    = 20 * time.Second // A question that the server has not accepted by then is returned.
	silence     = 40 * time.Second // The server sends a heartbeat every 15 s.
	mostFaults  = 6                // Consecutive internal errors, for an answer that the server has accepted.
	mostGaps    = 3
)

// errLeft means that the consumer has left the loop.
var errLeft = errors.New("left")

// Events follows the answer to its end, over as many connections as necessary. An error is the last element: a
// *Problem, an *AnswerError, ErrUnreachable, ErrInconsistent, or that of ctx. Leaving the loop does not stop the
// answer; calling Events again continues where it left off.
func (a *Answer) Events(ctx context.Context) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if err := a.follow(ctx, func(e Event) bool { return yield(e, nil) }); err != nil {
			yield(Event{}, err)
		}
	}
}

func (a *Answer) follow(ctx context.Context, yield func(Event) bool) error {
	for began := time.Now(); !a.done; {
		err := a.connect(ctx, yield)
		if err == nil || errors.Is(err, errLeft) {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		wait, err := a.retryWait(err, time.Since(began))
		if err != nil {
			return err
		}
		timer := time.NewTimer(max(wait, a.backoff()))
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		}
	}
	return nil
}

// retryWait returns the minimum wait after an error, or the error if retrying does not help.
func (a *Answer) retryWait(err error, elapsed time.Duration) (time.Duration, error) {
	accepted := a.MessageID != ""
	var failed *AnswerError
	var token *tokenError
	var problem *Problem
	switch {
	case errors.As(err, &failed), errors.As(err, &token), errors.Is(err, ErrInconsistent):
		return 0, err
	case !errors.As(err, &problem):
		if accepted || elapsed <= handOver {
			return 0, nil
		}
		return 0, fmt.Errorf("%w: %w", ErrUnreachable, err)
	case problem.passing() && (accepted || elapsed+problem.RetryAfter <= handOver),
		problem.Status >= http.StatusInternalServerError && accepted && a.failures < mostFaults:
		return problem.RetryAfter, nil
	}
	return 0, problem
}

// backoff returns the next wait. The first one is the server's retry time, which is random already; later ones double,
// with jitter.
func (a *Answer) backoff() time.Duration {
	wait := min(a.retry<<min(a.failures, 10), longestWait)
	if a.failures++; a.failures > 1 {
		wait = wait/2 + rand.N(wait/2+1) //nolint:gosec // Spreads clients; no secret.
	}
	return wait
}

// connect reads one connection. Its error is the reason why it ended before the answer did.
func (a *Answer) connect(ctx context.Context, yield func(Event) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watchdog := time.AfterFunc(silence, cancel)
	defer watchdog.Stop()
	method, body := http.MethodGet, any(nil)
	if a.question != nil {
		method, body = http.MethodPost, a.question
	}
	header := http.Header{"Accept": {"text/event-stream"}}
	if a.distrust {
		header.Set("Last-Event-ID", "0-0") // Not a position in any run: the server starts over with data-reset.
	} else if a.cursor.Offset > 0 {
		header.Set("Last-Event-ID", a.cursor.String())
	}
	resp, err := a.client.send(ctx, method, a.client.URL+a.path, body, header)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode == http.StatusNoContent {
		a.done = true
		return nil
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		return errors.New("no event stream") // From an intermediary, such as a captive portal.
	}
	events := newEventReader(watched{resp.Body, watchdog})
	for !a.done {
		event, err := events.next()
		if err != nil {
			return err
		}
		if event.retry > 0 {
			a.retry = event.retry
		}
		if len(event.data) == 0 {
			continue
		}
		if err := a.take(event, yield); err != nil {
			return err
		}
	}
	return nil
}

// watched is a body that resets the watchdog on each read.
type watched struct {
	io.Reader
	watchdog *time.Timer
}

func (w watched) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	w.watchdog.Reset(silence)
	return n, err
}

// chunk has the fields that are used here.
type chunk struct {
	Type            string `json:"type"`
	Delta           string `json:"delta"`
	MessageID       string `json:"messageId"` //nolint:tagliatelle // The AI SDK's names.
	ErrorText       string `json:"errorText"` //nolint:tagliatelle // The AI SDK's names.
	Code            string `json:"code"`
	Retryable       bool   `json:"retryable"`
	Data            struct{ Run int }
	MessageMetadata struct {
		Run           int    `json:"run"`
		ThreadID      string `json:"thread_id"`
		UserMessageID string `json:"user_message_id"`
	} `json:"messageMetadata"` //nolint:tagliatelle // The AI SDK's names.
}

var errGap = errors.New("the text does not follow on")

// gap ends the connection, so that the next one requests the text from its start.
func (a *Answer) gap() error {
	if a.Gaps++; a.Gaps > mostGaps {
		return ErrInconsistent
	}
	a.distrust = true
	return errGap
}

// take processes one event, and yields what is new in it.
func (a *Answer) take(event serverEvent, yield func(Event) bool) error {
	if string(event.data) == "[DONE]" {
		if !a.ended || a.distrust {
			return a.gap()
		}
		a.done = true
		return nil
	}
	var c chunk
	if json.Unmarshal(event.data, &c) != nil || c.Type == "" {
		return a.gap()
	}
	if a.distrust && c.Type != "start" && c.Type != "data-reset" {
		return a.gap()
	}
	at, placed := parseCursor(event.id)
	switch c.Type {
	case "start":
		if a.cursor.Offset == 0 { // Without a cursor, only the start event announces a new run.
			a.cursor.Run = c.MessageMetadata.Run
		}
		if a.QuestionID != "" {
			return nil // Of a later connection.
		}
		a.MessageID, a.ThreadID, a.QuestionID = c.MessageID, c.MessageMetadata.ThreadID, c.MessageMetadata.UserMessageID
		if a.question == nil { // From FollowThread: another answer may be written there later.
			a.path = "/v1/message/" + url.PathEscape(a.MessageID) + "/stream"
		}
	case "data-reset":
		a.cursor, a.distrust, a.ended = Cursor{Run: c.Data.Run}, false, false
	case "text-delta":
		if !placed || at.Run != a.cursor.Run || at.Offset > a.cursor.Offset &&
			at.Offset-len(c.Delta) != a.cursor.Offset {
			return a.gap()
		}
		if at.Offset <= a.cursor.Offset {
			a.Repeats++
			return nil
		}
		a.cursor = at
	case "finish", "abort", "error":
		if placed && at != a.cursor { // The last id says how long the text is.
			return a.gap()
		}
		if c.Type == "error" {
			a.done = true
			return &AnswerError{c.Code, c.ErrorText, c.Retryable}
		}
		if a.ended {
			return nil
		}
		a.ended = true
	}
	a.failures = 0
	text := ""
	if c.Type == "text-delta" {
		text = c.Delta
	}
	if !yield(Event{Type: c.Type, Text: text, Cursor: a.cursor, Chunk: json.RawMessage(event.data)}) {
		return errLeft
	}
	return nil
}
