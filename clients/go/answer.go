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

// Cursor is a position in an answer: the number of its run, and a number of bytes of its text.
type Cursor struct{ Run, Offset int }

func (c Cursor) String() string { return strconv.Itoa(c.Run) + "-" + strconv.Itoa(c.Offset) }

// parseCursor parses <run>-<offset>.
func parseCursor(id string) (Cursor, bool) {
	run, offset, found := strings.Cut(id, "-")
	r, err := strconv.ParseUint(run, 10, 31)
	o, err2 := strconv.ParseUint(offset, 10, 31)
	return Cursor{int(r), int(o)}, found && err == nil && err2 == nil && r > 0
}

// Event is an event of an answer's stream.
type Event struct {
	// Type is the type of the chunk: "start", "text-delta", "data-reset", "data-step", "source-document", "source-url",
	// "tool-input-available", "tool-approval-request" (see DecideToolCall), "tool-output-available", "tool-output-error",
	// "tool-output-denied", "reasoning-delta", "data-title", "finish", "abort" (the answer was stopped), or another one of a newer server. Each connection repeats steps, sources, calls
	// of tools with their results, reasoning and the title.
	Type string
	// Text is the text to append, for the type text-delta. For the type data-reset, the text so far must be discarded.
	Text string
	// Cursor is the position after this event.
	Cursor Cursor
	// Chunk is the complete chunk. It is valid until the next event.
	Chunk json.RawMessage
}

// AnswerError is the error of a failed answer. The server stores its partial text.
type AnswerError struct {
	Code      string // Stable name, such as model_interrupted.
	Message   string // Text for the user, in Japanese.
	Retryable bool
}

func (e *AnswerError) Error() string {
	return "tsumugi: the answer failed: " + e.Code + ": " + e.Message
}

// ErrUnreachable is the error if a question could not be delivered. It is safe to repeat the question with the same
// request id.
var ErrUnreachable = errors.New("tsumugi: the server cannot be reached")

// ErrInconsistent is the error if a stream violates the protocol, even after it was requested again.
var ErrInconsistent = errors.New("tsumugi: the stream makes no sense")

// Answer follows an answer. It must be used by one goroutine only.
type Answer struct {
	MessageID, ThreadID, QuestionID string // Set by the start event.

	// The following counters stay 0 with a correct server.
	Gaps    int // Gaps after which the whole text was requested again.
	Repeats int // Skipped events, whose text had already arrived.

	client   *Client
	question *Question // Nil for an answer that Follow or FollowThread returned.
	path     string
	cursor   Cursor
	// The run that the connection's start or data-reset has announced.
	announced int
	distrust  bool // The next connection must request the text from its start.
	ended     bool // The event finish or abort has arrived.
	done      bool
	retry     time.Duration
	failures  int
}

// Ask returns the answer to a question. The question is sent when Events or Read is called.
func (c *Client) Ask(q Question) *Answer {
	if q.RequestID == "" {
		q.RequestID = newRequestID()
	}
	return &Answer{client: c, question: &q, path: "/v1/message/stream", retry: firstWait}
}

// Follow returns a complete or incomplete answer from its beginning. While the server is unreachable, Events and Read
// retry until their ctx ends.
func (c *Client) Follow(messageID string) *Answer {
	path := "/v1/message/" + url.PathEscape(messageID) + "/stream"
	return &Answer{client: c, MessageID: messageID, path: path, retry: firstWait}
}

// FollowThread returns the answer in progress of a thread. If the thread has no such answer, Events yields no event.
func (c *Client) FollowThread(threadID string) *Answer {
	return &Answer{client: c, path: "/v1/thread/" + url.PathEscape(threadID) + "/stream", retry: firstWait}
}

// Read follows the answer to its end and returns its text. With an error, it returns the text so far.
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
	firstWait   = 1800 * time.Millisecond // Wait before a reconnection, until the server sends a retry time.
	longestWait = 10 * time.Second
	handOver    = 20 * time.Second // Time limit for delivering a question. After it, the error is ErrUnreachable.
	silence     = 40 * time.Second // Time limit without data. The server sends a heartbeat every 15 s.
	mostFaults  = 6                // Maximum number of consecutive internal errors after the server has accepted an answer.
	mostGaps    = 3
)

// errLeft is the error if the consumer has left the loop over the events.
var errLeft = errors.New("left")

// Events follows the answer to its end, over as many connections as necessary. An error is the last element: a
// *Problem, an *AnswerError, ErrUnreachable, ErrInconsistent, or the error of ctx. Leaving the loop does not stop the
// answer. Another call of Events continues at the next event.
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

// retryWait returns the minimum wait after an error, or the error if a retry does not help.
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

// backoff returns the next wait. The first wait is the server's retry time, which is already random. Later waits
// double, with jitter.
func (a *Answer) backoff() time.Duration {
	wait := min(a.retry<<min(a.failures, 10), longestWait)
	if a.failures++; a.failures > 1 {
		wait = wait/2 + rand.N(wait/2+1) //nolint:gosec // The random number spreads clients.
	}
	return wait
}

// connect reads one connection. It returns the reason if the connection ended before the answer.
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
		header.Set("Last-Event-ID", "0-0") // A position in no run, so that the server starts again with data-reset.
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
		return errors.New("no event stream") // An intermediary responded, such as a captive portal.
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

// watched is a body that resets a watchdog timer on each read.
type watched struct {
	io.Reader
	watchdog *time.Timer
}

func (w watched) Read(b []byte) (int, error) {
	n, err := w.Reader.Read(b)
	w.watchdog.Reset(silence)
	return n, err
}

// chunk holds the fields of a chunk that this package uses.
type chunk struct {
	Type            string `json:"type"`
	Delta           string `json:"delta"`
	MessageID       string `json:"messageId"` //nolint:tagliatelle // Name of the AI SDK.
	ErrorText       string `json:"errorText"` //nolint:tagliatelle // Name of the AI SDK.
	Code            string `json:"code"`
	Retryable       bool   `json:"retryable"`
	Data            struct{ Run int }
	MessageMetadata struct {
		Run           int    `json:"run"`
		ThreadID      string `json:"thread_id"`
		UserMessageID string `json:"user_message_id"`
	} `json:"messageMetadata"` //nolint:tagliatelle // Name of the AI SDK.
}

var errGap = errors.New("the text does not follow on")

// gap returns an error that ends the connection, so that the next connection requests the text from its start.
func (a *Answer) gap() error {
	if a.Gaps++; a.Gaps > mostGaps {
		return ErrInconsistent
	}
	a.distrust = true
	return errGap
}

// continues reports whether the text of a run continues the text received so far: it is of the same run, or of a later
// one that the connection has announced without a reset.
func (a *Answer) continues(run int) bool {
	return run == a.cursor.Run || run > a.cursor.Run && run == a.announced
}

// take processes one event and yields its new content.
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
		a.announced = c.MessageMetadata.Run
		if a.cursor.Offset == 0 { // Without a cursor, no data-reset announces a new run.
			a.cursor.Run = c.MessageMetadata.Run
		}
		if a.QuestionID != "" {
			return nil // A later connection repeats the start event.
		}
		a.MessageID, a.ThreadID, a.QuestionID = c.MessageID, c.MessageMetadata.ThreadID, c.MessageMetadata.UserMessageID
		if a.question == nil { // For FollowThread, because the thread may have another answer in progress later.
			a.path = "/v1/message/" + url.PathEscape(a.MessageID) + "/stream"
		}
	case "data-reset":
		a.cursor, a.distrust, a.ended = Cursor{Run: c.Data.Run}, false, false
		a.announced = c.Data.Run
	case "text-delta":
		repeats := at.Run == a.cursor.Run && at.Offset <= a.cursor.Offset
		if !placed || !a.continues(at.Run) || !repeats && at.Offset-len(c.Delta) != a.cursor.Offset {
			return a.gap()
		}
		if repeats {
			a.Repeats++
			return nil
		}
		a.cursor = at
	case "finish", "abort", "error":
		if placed && (!a.continues(at.Run) || at.Offset != a.cursor.Offset) { // The last id has the length of the text.
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
