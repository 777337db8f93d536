package tsumugi_test

// The code between the marks is shown in docs/streaming.md, and run here against a server that cuts at every byte.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	r3labs "github.com/r3labs/sse/v2"
	tmaxmax "github.com/tmaxmax/go-sse"
)

// documented: answer

// answer is the text of an answer with our own cursor: the library's last id is not used.
type answer struct {
	run       int // Of the text.
	announced int // Of the connection. It continues the text, unless data-reset follows.
	text      string
	done      bool
}

// cursor returns the Last-Event-ID that requests exactly the rest.
func (a *answer) cursor() string {
	if a.text == "" {
		return ""
	}
	return fmt.Sprintf("%d-%d", a.run, len(a.text))
}

// take accepts an event if it is whole and continues the text: its id is the length of the text after it.
func (a *answer) take(id string, data []byte) {
	if string(data) == "[DONE]" {
		a.done = true
	}
	var chunk struct {
		Type, Delta     string
		MessageMetadata struct{ Run int }
	}
	if json.Unmarshal(data, &chunk) != nil {
		return // Cut off.
	}
	switch {
	case chunk.Type == "start":
		a.announced = chunk.MessageMetadata.Run
	case chunk.Type == "data-reset":
		a.text = ""
	case chunk.Type == "text-delta" && id == fmt.Sprintf("%d-%d", a.announced, len(a.text)+len(chunk.Delta)):
		a.run = a.announced
		a.text += chunk.Delta
	}
}

// documented: r3labs/sse

// always waits a constant time, until the answer is complete or ctx ends. The library ignores the retry field, and ctx
// between its attempts.
type always struct {
	ctx  context.Context
	a    *answer
	wait time.Duration
}

func (w always) Reset() {}

func (w always) NextBackOff() time.Duration {
	if w.a.done || w.ctx.Err() != nil {
		return -1
	}
	return w.wait
}

func followWithR3labs(ctx context.Context, url, token string, wait time.Duration) (*answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := &answer{}
	client := r3labs.NewClient(url)
	client.Headers["Authorization"] = "Bearer " + token
	client.ReconnectStrategy = always{ctx, a, wait}
	client.ResponseValidator = func(_ *r3labs.Client, resp *http.Response) error {
		if a.done = resp.StatusCode == http.StatusNoContent; resp.StatusCode == http.StatusOK {
			return nil
		}
		_ = resp.Body.Close()
		return fmt.Errorf("the server answered %s", resp.Status)
	}
	for !a.done && ctx.Err() == nil { // It treats a closed connection as the end of the stream.
		_ = client.SubscribeRawWithContext(ctx, func(event *r3labs.Event) {
			a.take(string(event.ID), event.Data)
			// Replaces the library's, which may be the id of an event that was cut off.
			client.Headers["Last-Event-ID"] = a.cursor()
			if a.done {
				cancel()
			}
		})
	}
	if a.done {
		return a, nil
	}
	return a, ctx.Err()
}

// documented: tmaxmax/go-sse

func followWithGoSSE(ctx context.Context, url, token string, wait time.Duration) (*answer, error) {
	for a := (&answer{}); ; {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return a, err
		}
		req.Header.Set("Authorization", "Bearer "+token)
		// The library's Connection may send the id of an event that was cut off.
		req.Header.Set("Last-Event-ID", a.cursor())
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			for event, err := range tmaxmax.Read(resp.Body, nil) {
				if err == nil {
					a.take(event.LastEventID, []byte(event.Data))
				}
			}
			_ = resp.Body.Close()
			if a.done || resp.StatusCode == http.StatusNoContent {
				return a, nil
			}
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return a, ctx.Err()
		}
	}
}

// documented: end

func TestDocumentedClientsEndWithTheStoredText(t *testing.T) {
	t.Parallel()
	for name, follow := range map[string]func(context.Context, string, string, time.Duration) (*answer, error){
		"r3labs/sse": followWithR3labs, "tmaxmax/go-sse": followWithGoSSE,
	} {
		t.Run(strings.ReplaceAll(name, "/", " "), func(t *testing.T) {
			t.Parallel()
			r := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // Repeatable.
			rest := run{deltas: append(slices.Clone(first.deltas), "の続き")}
			for i := range 200 {
				idFirst, dies, takenOver, continued := i%2 == 0, i%4 < 2, i%3 == 0, i%9 == 0
				cuts := []int{r.IntN(len(script(1, first, "", idFirst))), r.IntN(300)}
				s := newServer(t, func(c call) any {
					body := script(1, first, c.cursor, idFirst)
					switch {
					case continued && c.n > 0:
						body = continuedScript(2, 1, rest, c.cursor, idFirst)
					case takenOver && c.n > 0:
						body = script(2, second, c.cursor, idFirst)
					}
					if c.n < len(cuts) {
						return cut{body[:min(cuts[c.n], len(body)-20)], dies}
					}
					return cut{body: body}
				})
				want := first
				switch {
				case continued:
					want = rest
				case takenOver:
					want = second
				}
				a, err := follow(t.Context(), s.URL+"/v1/message/a/stream", "token", time.Millisecond)
				if err != nil || a.text != want.text() {
					t.Fatalf("id first %v, dies %v, taken over %v, cut at %v: %q, %v", idFirst, dies, takenOver, cuts,
						a.text, err)
				}
				s.Close()
			}
		})
	}
}

func TestDocumentedLinesAreThoseOfTheDocumentation(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../docs/streaming.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("documented_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq(string(code), "\n// documented: ") {
		name, lines, _ := strings.Cut(part, "\n\n")
		if name == "end" {
			return
		}
		if !strings.HasPrefix(part, "package") && !strings.Contains(string(docs), strings.TrimSpace(lines)) {
			t.Errorf("docs/streaming.md does not show the lines of %s", name)
		}
	}
}

// TestCurlDistinguishesACutFromAnEnd: curl exits with status 18 if the connection was cut, so that a script knows to
// reconnect.
func TestCurlDistinguishesACutFromAnEnd(t *testing.T) {
	t.Parallel()
	curl, err := exec.LookPath("curl")
	if err != nil {
		t.Skip("there is no curl")
	}
	s := newServer(t, func(c call) any {
		body := script(1, first, c.cursor, false)
		if c.n == 0 {
			return cut{body[:500], true}
		}
		return cut{body: body}
	})
	run := func(cursor string) (string, error) {
		out, err := exec.CommandContext(t.Context(), curl, "-fsSN", "-H", "Authorization: Bearer token",
			"-H", "Last-Event-ID: "+cursor, s.URL+"/v1/message/a/stream").Output()
		return string(out), err
	}
	var exit *exec.ExitError
	if _, err := run(""); !errors.As(err, &exit) || exit.ExitCode() != 18 {
		t.Errorf("cut: %v", err)
	}
	if out, err := run("1-3"); err != nil || !strings.HasSuffix(out, "data: [DONE]\n\n") ||
		strings.Contains(out, `"こ"`) {
		t.Errorf("from 1-3: %v\n%s", err, out)
	}
}
