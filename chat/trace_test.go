package chat_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestSpansOfAnAnswer checks the spans of one answer: the span of the request, and the span of the
// generation, which outlives it and refers to it. Neither contains people's texts.
func TestSpansOfAnAnswer(t *testing.T) {
	t.Parallel()
	recorder := tracetest.NewSpanRecorder()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(recorder))
	f := newFixture(t, nil)
	s := f.startWith(chat.Deps{Model: llmtest.Say("秘密の", "回答"), Tracer: provider.Tracer("test")}, chat.Config{})
	ctx, request := provider.Tracer("test").Start(t.Context(), "request")
	exchange := must.Get(s.Send(ctx, f.owner, f.question("秘密の質問")))(t)
	request.End()
	f.follow(s, exchange.Answer.ID, "")
	s.kill()

	spans := map[string]sdktrace.ReadOnlySpan{}
	for _, span := range recorder.Ended() {
		spans[span.Name()] = span
		if all := fmt.Sprint(span.Attributes(), span.Events()); strings.Contains(all, "秘密") {
			t.Errorf("%s holds what people write: %s", span.Name(), all)
		}
	}
	send, generation := spans["chat.send"], spans["chat.generation"]
	if send == nil || generation == nil {
		t.Fatalf("got %v", spans)
	}
	if send.Parent().SpanID() != request.SpanContext().SpanID() {
		t.Error("the call is no part of the request")
	}
	if generation.Parent().SpanID() != send.SpanContext().SpanID() ||
		generation.SpanContext().TraceID() != send.SpanContext().TraceID() {
		t.Error("the generation is no part of its question's trace")
	}
	var events []string
	for _, event := range generation.Events() {
		events = append(events, event.Name)
	}
	if got := strings.Join(events, ", "); got != "asked, first token, last token, stored" {
		t.Errorf("events: %s", got)
	}
	attributes := fmt.Sprint(generation.Attributes())
	for _, want := range []string{
		exchange.Answer.ID.String(), f.thread.ID.String(), llmtest.ModelName,
		chat.OutcomeSuccess, "chat.run",
	} {
		if !strings.Contains(attributes, want) {
			t.Errorf("%s is not among %s", want, attributes)
		}
	}
}

// counted records a server's metrics.
type counted struct {
	mu sync.Mutex
	n  map[string]int // Guarded by mu.
}

func (c *counted) add(name string, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n[name] += n
}

func (c *counted) GenerationBegan() { c.add("began", 1) }
func (c *counted) GenerationEnded(outcome string, _ time.Duration, tokens int) {
	c.add(outcome, 1)
	c.add("tokens", tokens)
}
func (c *counted) FirstToken(time.Duration)                       { c.add("first", 1) }
func (c *counted) TookOver(n int)                                 { c.add("took over", n) }
func (c *counted) Fenced(n int)                                   { c.add("fenced", n) }
func (c *counted) Refused(reason string)                          { c.add(reason, 1) }
func (c *counted) ToolCalled(tool, state string, _ time.Duration) { c.add(tool+" "+state, 1) }

func TestMetricsCountGenerations(t *testing.T) {
	t.Parallel()
	f := newFixture(t, nil)
	metrics := &counted{n: map[string]int{}}
	model := llmtest.NewLive()
	s := f.startWith(chat.Deps{Model: model, Metrics: metrics}, chat.Config{MaxPerPerson: 1})
	exchange := f.sendTo(s, f.question("はい"))
	if _, err := f.askElsewhere(s, f.owner); err == nil {
		t.Error("a second answer at once")
	}
	call := model.Next(t)
	call.Emit("一")
	call.Emit("二")
	call.Finish()
	f.waitAt(s, exchange)
	f.thread = f.newThread(chatSkill)
	f.sendTo(s, f.question("はい"))
	model.Next(t)
	s.kill()
	other := f.startWith(chat.Deps{Model: llmtest.Say("はい"), Metrics: metrics}, chat.Config{Sweep: time.Millisecond})
	f.attachOnce(other, chat.Exchange{Answer: f.messages()[0]}, "")
	other.kill()
	want := map[string]int{
		"began": 3, chat.OutcomeSuccess: 2, chat.OutcomeHandedOver: 1, "first": 2, "took over": 1,
		chat.RefusedPerson: 1,
	}
	metrics.mu.Lock()
	defer metrics.mu.Unlock()
	if metrics.n["tokens"] == 0 {
		t.Error("no tokens are counted")
	}
	delete(metrics.n, "tokens")
	if fmt.Sprint(metrics.n) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", metrics.n, want)
	}
}
