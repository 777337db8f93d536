package openai_test

import (
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/api/openai"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// signalingWriter reports each write.
type signalingWriter struct {
	*httptest.ResponseRecorder
	wrote chan int
}

func (w *signalingWriter) Write(part []byte) (int, error) {
	n, err := w.ResponseRecorder.Write(part)
	w.wrote <- n
	return n, err
}

// TestCopyTakesMemoryForNewTextOnly: a piece of a long answer costs no more than one of a short answer.
func TestCopyTakesMemoryForNewTextOnly(t *testing.T) {
	for name, parse := range map[string]func() (openai.Request, error){
		"completion": func() (openai.Request, error) {
			return openai.ParseCompletion([]byte(`{"model":"a","messages":[{"role":"user","content":"b"}],"stream":true}`))
		},
		"response": func() (openai.Request, error) {
			return openai.ParseResponse([]byte(`{"model":"a","input":"b","stream":true}`))
		},
	} {
		t.Run(name, func(t *testing.T) {
			request := must.Get(parse())(t)
			testCopy(t, request)
		})
	}
}

// TestHoldSendsComments: a stream is never silent for longer than the interval of heartbeats, and ends its wait at once.
func TestHoldSendsComments(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		request := must.Get(openai.ParseResponse([]byte(`{"model":"a","input":"b","stream":true}`)))(t)
		w := httptest.NewRecorder()
		response := openai.NewResponse(w, request, chat.Message{})
		ready, held, began := make(chan struct{}), make(chan error), time.Now()
		go func() { held <- response.Hold(t.Context(), ready) }()
		time.Sleep(50 * time.Second)
		close(ready)
		if err := <-held; err != nil || time.Since(began) != 50*time.Second {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		if got := w.Body.String(); got != strings.Repeat(": \n\n", 3) {
			t.Errorf("sent: %q", got)
		}
	})
}

func testCopy(t *testing.T, request openai.Request) {
	t.Helper()
	const size, pieces = 1 << 20, 200
	text := stream.NewText(stream.Head{Run: 1, MessageID: "m"})
	text.AppendText(strings.Repeat("x", size))
	w := &signalingWriter{httptest.NewRecorder(), make(chan int)}
	response := openai.NewResponse(w, request, chat.Message{})
	copied := make(chan error)
	go func() { copied <- response.Copy(t.Context(), text) }()
	await := func() {
		t.Helper()
		select {
		case <-w.wrote:
		case <-time.After(time.Minute):
			t.Fatal("nothing is written")
		}
	}
	await()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range pieces {
		text.AppendText("糸")
		await()
	}
	runtime.ReadMemStats(&after)
	text.Finish(stream.End{Outcome: stream.Finished, FinishReason: "stop"})
	if err := <-copied; err != nil {
		t.Error(err)
	}
	if n := strings.Count(w.Body.String(), `"糸"`); n != pieces {
		t.Errorf("%d pieces were sent", n)
	}
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 16*size {
		t.Errorf("%d pieces took %d KB", pieces, taken>>10)
	}
}
