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

// Cursor is a place in an answer: the run that writes it, and the bytes of its text.
type Cursor struct{ Run, Offset int }

func (c Cursor) String() string { return strconv.Itoa(c.Run) + "-" + strconv.Itoa(c.Offset) }

// parseCursor reads <run>-<offset>.
func parseCursor(id string) (Cursor, bool) {
	run, offset, found := strings.Cut(id, "-")
	r, err := strconv.ParseUint(run, 10, 31)
	o, err2 := strconv.ParseUint(offset, 10, 31)
	return Cursor{int(r), int(o)}, found && err == nil && err2 == nil && r > 0
}

// Event is something that has come of an answer.
type Event struct {
	// Type is that of the chunk: "start", "text-delta", "data-reset", "data-step", "source-document", "source-url",
	// "reasoning-delta", "data-title", "finish", "abort" (it was stopped), and others that a newer server may send.
	// Steps, sources, reasoning and the title come again on each connection.
	Type string
	// Text is what a text-delta adds to the text. A data-reset means: forget the text, it is written anew.
	Text string
	// Cursor is how far the text is with this event.
	Cursor Cursor
	// Chunk is the whole chunk. It is valid until the next event.
	Chunk json.RawMessage
}

// AnswerError is an answer that has failed. What was written of it is kept.
type AnswerError struct {
	Code      string // Its stable name, such as model_interrupted.
	Message   string // For the person, in Japanese.
	Retryable bool
}

func (e *AnswerError) Error() string {
	return "tsumugi: the answer failed: " + e.Code + ": " + e.Message
}

// ErrUnreachable is a question that could not be handed over. Asking it again with the same request id is safe.
var ErrUnreachable = errors.New("tsumugi: the server cannot be reached")

// ErrInconsistent is a stream that makes no sense, also when it is asked for anew.
var ErrInconsistent = errors.New("tsumugi: the stream makes no sense")

// Answer is an answer that is followed. It belongs to one goroutine.
type Answer struct {
	MessageID, ThreadID, QuestionID string // Known from the start event on.

	// What a server that keeps its promise leaves at zero.
	Gaps    int // Times that text was missing, so that the whole was asked for anew.
	Repeats int // Events of text that had come before, and were passed over.

	client   *Client
	question *Question // Nil for an answer that somebody else asked for.
	path     string
	cursor   Cursor
	distrust bool // The text is to be told anew.
	ended    bool // finish or abort has come.
	done     bool
	retry    time.Duration
	failures int
}

// Ask asks, and follows the answer. It does nothing before Events or Read is called.
func (c *Client) Ask(q Question) *Answer {
	if q.RequestID == "" {
		q.RequestID = newRequestID()
	}
	return &Answer{client: c, question: &q, path: "/v1/message/stream", retry: firstWait}
}

// Follow follows an answer from its beginning, whether it is complete or not. A server that cannot be reached is waited
// for until ctx ends.
func (c *Client) Follow(messageID string) *Answer {
	path := "/v1/message/" + url.PathEscape(messageID) + "/stream"
	return &Answer{client: c, MessageID: messageID, path: path, retry: firstWait}
}

// FollowThread follows the answer that is being written in a thread. Where there is none, it ends without an event.
func (c *Client) FollowThread(threadID string) *Answer {
	return &Answer{client: c, path: "/v1/thread/" + url.PathEscape(threadID) + "/stream", retry: firstWait}
}

// Read follows the answer to its end, and returns its text. With an error it returns what there is of the text.
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
	firstWait   = 1800 * time.Millisecond // Until the server names its own.
	longestWait = 10 * time.Second
	handOver    = 20 * time.Second // A question that the server has not taken by then is given back.
	silence     = 40 * time.Second // The server sends a heartbeat every 15 s.
	mostFaults  = 6                // Internal errors in a row, for an answer that the server has.
	mostGaps    = 3
)

// errLeft says that the consumer has had enough.
var errLeft = errors.New("left")

// Events follows the answer to its end, over as many connections as it takes. An error is the last thing that comes: a
// *Problem, an *AnswerError, ErrUnreachable, ErrInconsistent, or that of ctx. Leaving the loop leaves the answer, which
// is written on; Events called again goes on where it was.
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
		wait, err := a.pardon(err, time.Since(began))
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

// pardon returns how long to wait at least after an error, or the error if another try does not mend it.
func (a *Answer) pardon(err error, elapsed time.Duration) (time.Duration, error) {
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

// backoff returns the next wait. The server draws its time at random for each client, so the first wait is just that;
// later ones double, with jitter.
func (a *Answer) backoff() time.Duration {
	wait := min(a.retry<<min(a.failures, 10), longestWait)
	if a.failures++; a.failures > 1 {
		wait = wait/2 + rand.N(wait/2+1) //nolint:gosec // Spreads clients; no secret.
	}
	return wait
}

// connect makes one connection and takes what comes over it. Its error says why that ended before the answer did.
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
		header.Set("Last-Event-ID", "0-0") // No place in any run: the server begins anew, with data-reset.
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
		return errors.New("no event stream") // From something in between, such as a captive portal.
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

// watched is a body on which each byte puts the watchdog off.
type watched struct {
	io.Reader
	watchdog *time.Timer
}

func (w watched) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	w.watchdog.Reset(silence)
	return n, err
}

// chunk has the fields that are looked at here.
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

// gap gives the connection up, for one that tells the text anew.
func (a *Answer) gap() error {
	if a.Gaps++; a.Gaps > mostGaps {
		return ErrInconsistent
	}
	a.distrust = true
	return errGap
}

// take takes one event, and hands on what is new in it.
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
		if a.cursor.Offset == 0 { // Without a cursor, a new run is told by its start alone.
			a.cursor.Run = c.MessageMetadata.Run
		}
		if a.QuestionID != "" {
			return nil // Of a later connection.
		}
		a.MessageID, a.ThreadID, a.QuestionID = c.MessageID, c.MessageMetadata.ThreadID, c.MessageMetadata.UserMessageID
		if a.question == nil { // From a thread: another answer may be written there later.
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
