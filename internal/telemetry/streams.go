package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
)

// WatchStreams adds metrics of the stream sender and the hub. All but the gauges are counters.
func (t *Telemetry) WatchStreams(sender func() sse.Stats, hub func() stream.HubStats) {
	t.registry.MustRegister(
		newSnapshots(sender, senderSeries()), newSnapshots(hub, hubSeries()), newLag(sender),
	)
}

func senderSeries() []series[sse.Stats] {
	gauge, counter := prometheus.GaugeValue, prometheus.CounterValue
	open := func(path string, value func(sse.Stats) float64) series[sse.Stats] {
		return series[sse.Stats]{
			"tsumugi_streams_open", "Streams that are being sent, by the path that they take.", gauge,
			[]string{"path", path},
			value,
		}
	}
	ended := func(reason string, value func(sse.Ends) uint64) series[sse.Stats] {
		return series[sse.Stats]{
			"tsumugi_streams_ended_total", "Streams that are over, by reason: done (the answer is complete), moved (it is written anew, or elsewhere), gone (the client left), " +
				"slow (it did not take what it was sent), expired (its token), drained (the server asked it to come back elsewhere).",
			counter,
			[]string{"reason", reason},
			func(s sse.Stats) float64 { return float64(value(s.Ends)) },
		}
	}
	total := func(name, help string, value func(sse.Stats) uint64) series[sse.Stats] {
		return series[sse.Stats]{name, help, counter, nil, func(s sse.Stats) float64 { return float64(value(s)) }}
	}
	return []series[sse.Stats]{
		open("fast", func(s sse.Stats) float64 { return float64(s.OpenFast) }),
		open("http", func(s sse.Stats) float64 { return float64(s.OpenHTTP) }),
		total("tsumugi_streams_begun_total", "Streams that were begun.", func(s sse.Stats) uint64 { return s.Opened }),
		total("tsumugi_stream_resumes_total", "Streams whose client had a cursor.",
			func(s sse.Stats) uint64 { return s.Resumes }),
		total("tsumugi_stream_resets_total", "Streams whose client's cursor did not hold: told to begin anew.",
			func(s sse.Stats) uint64 { return s.Resets }),
		total("tsumugi_stream_writes_total", "Writes to clients.", func(s sse.Stats) uint64 { return s.Writes }),
		total("tsumugi_stream_bytes_total", "Bytes of events that were written to clients.",
			func(s sse.Stats) uint64 { return s.Bytes }),
		total("tsumugi_stream_heartbeats_total", "Heartbeats that were written to clients.",
			func(s sse.Stats) uint64 { return s.Heartbeats }),
		total("tsumugi_stream_drains_total", "Times that a client did not take at once what it was sent.",
			func(s sse.Stats) uint64 { return s.Drains }),
		ended("done", func(e sse.Ends) uint64 { return e.Done }),
		ended("moved", func(e sse.Ends) uint64 { return e.Moved }),
		ended("gone", func(e sse.Ends) uint64 { return e.Gone }),
		ended("slow", func(e sse.Ends) uint64 { return e.Slow }),
		ended("expired", func(e sse.Ends) uint64 { return e.Expired }),
		ended("drained", func(e sse.Ends) uint64 { return e.Drained }),
	}
}

func hubSeries() []series[stream.HubStats] {
	gauge := func(name, help string, value func(stream.HubStats) int) series[stream.HubStats] {
		return series[stream.HubStats]{
			name, help, prometheus.GaugeValue, nil,
			func(s stream.HubStats) float64 { return float64(value(s)) },
		}
	}
	total := func(name, help string, value func(stream.HubStats) int64) series[stream.HubStats] {
		return series[stream.HubStats]{
			name, help, prometheus.CounterValue, nil,
			func(s stream.HubStats) float64 { return float64(value(s)) },
		}
	}
	return []series[stream.HubStats]{
		gauge("tsumugi_texts", "Answers that are being written here or followed on other servers.",
			func(s stream.HubStats) int { return s.Texts }),
		gauge("tsumugi_mirrors", "Answers of other servers that are followed here.",
			func(s stream.HubStats) int { return s.Mirrors }),
		gauge("tsumugi_text_bytes", "Bytes of those answers' texts.",
			func(s stream.HubStats) int { return s.TextBytes }),
		gauge("tsumugi_log_bytes", "Bytes of their events in memory.",
			func(s stream.HubStats) int { return s.LogBytes }),
		total("tsumugi_updates_sent_total", "Updates of texts that other servers can read.",
			func(s stream.HubStats) int64 { return s.EntriesSent }),
		total("tsumugi_updates_resent_total", "Updates that were sent again after an error.",
			func(s stream.HubStats) int64 { return s.EntriesResent }),
		total("tsumugi_updates_received_total", "Updates of other servers' texts.",
			func(s stream.HubStats) int64 { return s.EntriesReceived }),
		total("tsumugi_mirror_holes_total", "Times that a mirror was begun again because updates were missing.",
			func(s stream.HubStats) int64 { return s.Holes }),
		total("tsumugi_stale_runs_total", "Texts that were dropped because a later run had begun.",
			func(s stream.HubStats) int64 { return s.StaleRuns }),
	}
}

// lag is the histogram of how long events wait until they are written.
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

// WatchBridge adds whether this server is connected to the others.
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

// WatchLive adds the number of open live sockets.
func (t *Telemetry) WatchLive(open func() int) {
	t.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "tsumugi_live_sockets", Help: "Browsers that are told of what happens in other tabs and on other devices.",
	}, func() float64 { return float64(open()) }))
}
