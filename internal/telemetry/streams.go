package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsumugi-ai/tsumugi/internal/tally"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
)

// WatchStreams adds metrics of the stream sender and the hub.
func (t *Telemetry) WatchStreams(sender func() sse.Stats, hub func() stream.HubStats) {
	t.registry.MustRegister(
		newSnapshots(sender, senderSeries()), newSnapshots(hub, hubSeries()), newLag(sender),
	)
}

func senderSeries() []series[sse.Stats] {
	const (
		open     = "tsumugi_streams_open"
		openHelp = "Streams that are being sent, by the path that they take."
		over     = "tsumugi_streams_ended_total"
		overHelp = "Streams that are over, by reason: done (the answer is complete), moved (another run follows, or " +
			"another server writes it), gone (the client left), slow (the client did not take a write in time), " +
			"expired (its token), drained (the server asked it to reconnect elsewhere)."
	)
	ended := func(reason string, value func(sse.Stats) uint64) series[sse.Stats] {
		return counter(over, overHelp, value, "reason", reason)
	}
	return []series[sse.Stats]{
		gauge(open, openHelp, func(s sse.Stats) int64 { return s.OpenFast }, "path", "fast"),
		gauge(open, openHelp, func(s sse.Stats) int64 { return s.OpenHTTP }, "path", "http"),
		counter("tsumugi_streams_begun_total", "Streams that were begun.",
			func(s sse.Stats) uint64 { return s.Opened }),
		counter("tsumugi_stream_resumes_total", "Streams whose client had a cursor.",
			func(s sse.Stats) uint64 { return s.Resumes }),
		counter("tsumugi_stream_resets_total", "Streams whose client had an invalid cursor and was reset.",
			func(s sse.Stats) uint64 { return s.Resets }),
		counter("tsumugi_stream_writes_total", "Writes to clients.", func(s sse.Stats) uint64 { return s.Writes }),
		counter("tsumugi_stream_bytes_total", "Bytes of events that were written to clients.",
			func(s sse.Stats) uint64 { return s.Bytes }),
		counter("tsumugi_stream_heartbeats_total", "Heartbeats that were written to clients.",
			func(s sse.Stats) uint64 { return s.Heartbeats }),
		counter("tsumugi_stream_drains_total", "Times that a client's socket did not accept a whole write at once.",
			func(s sse.Stats) uint64 { return s.Drains }),
		ended("done", func(s sse.Stats) uint64 { return s.Ends.Done }),
		ended("moved", func(s sse.Stats) uint64 { return s.Ends.Moved }),
		ended("gone", func(s sse.Stats) uint64 { return s.Ends.Gone }),
		ended("slow", func(s sse.Stats) uint64 { return s.Ends.Slow }),
		ended("expired", func(s sse.Stats) uint64 { return s.Ends.Expired }),
		ended("drained", func(s sse.Stats) uint64 { return s.Ends.Drained }),
	}
}

func hubSeries() []series[stream.HubStats] {
	return []series[stream.HubStats]{
		gauge("tsumugi_texts", "Answers that are being written here or followed on other servers.",
			func(s stream.HubStats) int { return s.Texts }),
		gauge("tsumugi_mirrors", "Answers of other servers that are followed here.",
			func(s stream.HubStats) int { return s.Mirrors }),
		gauge("tsumugi_text_bytes", "Bytes of those answers' texts.",
			func(s stream.HubStats) int { return s.TextBytes }),
		gauge("tsumugi_log_bytes", "Bytes of their events in memory.",
			func(s stream.HubStats) int { return s.LogBytes }),
		counter("tsumugi_updates_sent_total", "Updates of texts that other servers can read.",
			func(s stream.HubStats) int64 { return s.EntriesSent }),
		counter("tsumugi_updates_resent_total", "Updates that were sent again after an error.",
			func(s stream.HubStats) int64 { return s.EntriesResent }),
		counter("tsumugi_updates_received_total", "Updates of other servers' texts.",
			func(s stream.HubStats) int64 { return s.EntriesReceived }),
		counter("tsumugi_mirror_holes_total", "Times that a mirror was begun again because updates were missing.",
			func(s stream.HubStats) int64 { return s.Gaps }),
		counter("tsumugi_stale_runs_total", "Texts that were dropped because a later run had begun.",
			func(s stream.HubStats) int64 { return s.StaleRuns }),
	}
}

// lag is the histogram of the time from publishing an event to the end of its write.
type lag struct {
	read func() sse.Stats
	desc *prometheus.Desc
}

func newLag(read func() sse.Stats) *lag {
	return &lag{read, prometheus.NewDesc("tsumugi_stream_lag_seconds",
		"From publishing an event to the end of the write that carried it.", nil, nil)}
}

// Describe implements prometheus.Collector.
func (l *lag) Describe(descs chan<- *prometheus.Desc) { descs <- l.desc }

// Collect implements prometheus.Collector.
func (l *lag) Collect(metrics chan<- prometheus.Metric) {
	s := l.read()
	count, buckets := uint64(0), make(map[float64]uint64, len(s.Lag))
	for _, bucket := range s.Lag {
		count += bucket.Count
		if bucket.UpTo > 0 {
			buckets[bucket.UpTo.Seconds()] = count
		}
	}
	metrics <- prometheus.MustNewConstHistogram(l.desc, count, s.LagSum.Seconds(), buckets)
}

// WatchBridge adds a gauge that is 1 if this server is connected to the other servers.
func (t *Telemetry) WatchBridge(connected func() bool) {
	t.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tsumugi_nats_connected", Help: "1 while this server is connected to NATS, else 0.",
	}, func() float64 {
		if connected() {
			return 1
		}
		return 0
	}))
}

// WatchTally adds the state of the exchange of counts between servers.
func (t *Telemetry) WatchTally(stats func() tally.Stats) {
	t.registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "tsumugi_limit_servers", Help: "Other servers whose counts of calls arrive and are included in limits.",
		}, func() float64 { return float64(stats().Servers) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "tsumugi_limit_missed_total", Help: "Interruptions after which counts of other servers may be missing.",
		}, func() float64 { return float64(stats().Missed) }),
	)
}

// WatchLive adds the number of open live sockets.
func (t *Telemetry) WatchLive(open func() int) {
	t.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tsumugi_live_sockets", Help: "Open live connections of browsers.",
	}, func() float64 { return float64(open()) }))
}
