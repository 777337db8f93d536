package telemetry_test

import (
	"strings"
	"testing"
	"time"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/telemetry"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestStreamAndGenerationMetrics(t *testing.T) {
	t.Parallel()
	tel := must.Get(telemetry.New(t.Context(), telemetry.Config{}))(t)
	tel.WatchStreams(func() sse.Stats {
		return sse.Stats{
			OpenFast: 3, Resumes: 2, Ends: sse.Ends{Slow: 5}, LagSum: time.Second,
			Lag: []sse.Lag{{UpTo: time.Millisecond, Count: 7}, {UpTo: time.Second, Count: 1}, {Count: 1}},
		}
	}, func() stream.HubStats { return stream.HubStats{Texts: 4, EntriesSent: 6} })
	tel.WatchGenerations(func() chat.Stats { return chat.Stats{Running: 8, Waiting: 9} })
	answers := tel.Generations()
	answers.GenerationBegan()
	answers.FirstToken(30 * time.Millisecond)
	answers.GenerationEnded(chat.OutcomeSuccess, 2*time.Second, 100)
	answers.GenerationEnded(chat.OutcomeDropped, time.Second, 0)
	answers.TookOver(2)
	answers.Fenced(1)
	answers.Refused(chat.RefusedFull)
	for _, name := range []string{"calculate", "crm__find_customer", "erp__find_order"} { // Two of organizations' servers.
		answers.ToolCalled(name, string(chat.ToolDone), 20*time.Millisecond)
	}
	text := scrape(t, tel)
	for _, want := range []string{
		`tsumugi_streams_open{path="fast"} 3`, `tsumugi_streams_open{path="http"} 0`, "tsumugi_stream_resumes_total 2",
		`tsumugi_streams_ended_total{reason="slow"} 5`, "tsumugi_texts 4", "tsumugi_updates_sent_total 6",
		`tsumugi_stream_lag_seconds_bucket{le="0.001"} 7`, `tsumugi_stream_lag_seconds_bucket{le="1"} 8`,
		`tsumugi_stream_lag_seconds_bucket{le="+Inf"} 9`, "tsumugi_stream_lag_seconds_sum 1",
		"tsumugi_generations_running 8", "tsumugi_generations_waiting 9", "tsumugi_generations_begun_total 1",
		`tsumugi_first_token_seconds_bucket{le="0.05"} 1`, `tsumugi_generations_ended_total{outcome="success"} 1`,
		`tsumugi_generations_ended_total{outcome="dropped"} 1`, `tsumugi_generation_seconds_count{outcome="success"} 1`,
		`tsumugi_generation_tokens_per_second_bucket{le="60"} 1`, "tsumugi_output_tokens_total 100",
		"tsumugi_generations_taken_over_total 2", "tsumugi_generations_fenced_total 1",
		`tsumugi_questions_refused_total{reason="full"} 1`, `tsumugi_questions_refused_total{reason="memory"} 0`,
		`tsumugi_tool_call_seconds_count{result="success",tool="calculate"} 1`,
		`tsumugi_tool_call_seconds_count{result="success",tool="server"} 2`,
	} {
		if !strings.Contains(text, want+"\n") {
			t.Errorf("%s is missing", want)
		}
	}
}
