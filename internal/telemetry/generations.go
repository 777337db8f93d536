package telemetry

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

// generations implements chat.Metrics.
type generations struct {
	begun      prometheus.Counter
	ended      *prometheus.CounterVec
	duration   *prometheus.HistogramVec
	firstToken prometheus.Histogram
	tokens     prometheus.Counter
	rate       prometheus.Histogram
	tookOver   prometheus.Counter
	fenced     prometheus.Counter
	refused    *prometheus.CounterVec
	tools      *prometheus.HistogramVec
}

// Generations returns the metrics of the chat service. It must be called only once.
func (t *Telemetry) Generations() chat.Metrics {
	plain := func(name, help string) prometheus.Counter {
		return prometheus.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	g := &generations{
		begun: plain("tsumugi_generations_begun_total", "Answers that this server began to write."),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tsumugi_generations_ended_total",
			Help: "Answers that this server no longer writes, by how they ended.",
		}, []string{"outcome"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tsumugi_generation_seconds", Help: "From the question to the stored answer.",
			Buckets: []float64{.1, .5, 1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800},
		}, []string{"outcome"}),
		firstToken: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "tsumugi_first_token_seconds", Help: "From the question to the first text of its answer.",
			Buckets: []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2, 5, 10, 20, 40, 60},
		}),
		tokens: plain("tsumugi_output_tokens_total", "Tokens of stored answers, as the model counts them."),
		rate: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "tsumugi_generation_tokens_per_second", Help: "Tokens of a stored answer by the time that it took.",
			Buckets: []float64{1, 2, 5, 10, 20, 40, 60, 80, 100, 150, 200, 400},
		}),
		tookOver: plain("tsumugi_generations_taken_over_total",
			"Answers of dead servers that this one went on with, as the next run."),
		fenced: plain("tsumugi_generations_fenced_total",
			"Answers that this server dropped because they were no longer its own."),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "tsumugi_questions_refused_total", Help: "Questions that were refused, by reason.",
		}, []string{"reason"}),
		tools: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "tsumugi_tool_call_seconds", Help: "Calls of tools by the assistant, by built-in tool or server, and result.",
			Buckets: []float64{.001, .01, .1, .5, 1, 2, 5, 10, 30, 60},
		}, []string{"tool", "result"}),
	}
	// Creates all series, so that the rate of an outcome that has not happened is zero instead of unknown.
	for _, outcome := range []string{
		chat.OutcomeSuccess, chat.OutcomeStopped, chat.OutcomeFailed, chat.OutcomeHandedOver, chat.OutcomeDropped,
	} {
		g.ended.WithLabelValues(outcome)
	}
	for _, reason := range []string{
		chat.RefusedStopping, chat.RefusedFull, chat.RefusedPerson,
		chat.RefusedOrganization, chat.RefusedMemory,
	} {
		g.refused.WithLabelValues(reason)
	}
	t.registry.MustRegister(g.begun, g.ended, g.duration, g.firstToken, g.tokens, g.rate, g.tookOver, g.fenced,
		g.refused, g.tools)
	return g
}

func (g *generations) GenerationBegan() { g.begun.Inc() }

func (g *generations) GenerationEnded(outcome string, duration time.Duration, outputTokens int) {
	g.ended.WithLabelValues(outcome).Inc()
	if outcome == chat.OutcomeHandedOver || outcome == chat.OutcomeDropped {
		return
	}
	g.duration.WithLabelValues(outcome).Observe(duration.Seconds())
	g.tokens.Add(float64(outputTokens))
	if outcome == chat.OutcomeSuccess && outputTokens > 0 && duration > 0 {
		g.rate.Observe(float64(outputTokens) / duration.Seconds())
	}
}

func (g *generations) FirstToken(after time.Duration) { g.firstToken.Observe(after.Seconds()) }

func (g *generations) TookOver(n int) { g.tookOver.Add(float64(n)) }

func (g *generations) Fenced(n int) { g.fenced.Add(float64(n)) }

func (g *generations) Refused(reason string) { g.refused.WithLabelValues(reason).Inc() }

// ToolCalled combines the tools of organizations' servers, because organizations choose their number and names.
func (g *generations) ToolCalled(name, state string, duration time.Duration) {
	if strings.Contains(name, tool.Separator) {
		name = "server"
	}
	g.tools.WithLabelValues(name, state).Observe(duration.Seconds())
}

// WatchGenerations adds gauges of the chat service.
func (t *Telemetry) WatchGenerations(read func() chat.Stats) {
	watch(t, read, func(s chat.Stats) []prometheus.Metric {
		return []prometheus.Metric{
			gauge("tsumugi_generations_running", "Answers that are being written here.", s.Running),
			gauge("tsumugi_generations_waiting", "Stored questions that wait for a place.", s.Waiting),
		}
	})
}
