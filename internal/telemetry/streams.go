package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsumugi-ai/tsumugi/internal/tally"
	"github.com/tsumugi-ai/tsumugi/stream"
	"github.com/tsumugi-ai/tsumugi/stream/sse"
)

// WatchStreams adds metrics of the stream sender and the hub.
func (t *Telemetry) WatchStreams(sender func() sse.Stats, hub func() stream.HubStats) {
	watch(t, sender, senderMetrics)
	watch(t, hub, hubMetrics)
}

func senderMetrics(s sse.Stats) []prometheus.Metric {
	const (
		open     = "tsumugi_streams_open"
		openHelp = "Streams that are being sent, by the path that they take."
		over     = "tsumugi_streams_ended_total"
		overHelp = "Streams that are over, by reason: done (the answer is complete), moved (another run follows, or " +
			"another server writes it), gone (the client left), slow (the client did not take a write in time), " +
			"expired (its token), drained (the server asked it to reconnect elsewhere)."
	)
	ended := func(reason string, value uint64) prometheus.Metric {
		return counter(over, overHelp, value, "reason", reason)
	}
	return []prometheus.Metric{
		lag(s),
		gauge(open, openHelp, s.OpenFast, "path", "fast"),
		gauge(open, openHelp, s.OpenHTTP, "path", "http"),
		counter("tsumugi_streams_begun_total", "Streams that were begun.", s.Opened),
		counter("tsumugi_stream_resumes_total", "Streams whose client had a cursor.", s.Resumes),
		counter("tsumugi_stream_resets_total", "Streams whose client had an invalid cursor and was reset.", s.Resets),
		counter("tsumugi_stream_writes_total", "Writes to clients.", s.Writes),
		counter("tsumugi_stream_bytes_total", "Bytes of events that were written to clients.", s.Bytes),
		counter("tsumugi_stream_heartbeats_total", "Heartbeats that were written to clients.", s.Heartbeats),
		counter("tsumugi_stream_drains_total", "Times that a client's socket did not accept a whole write at once.",
			s.Drains),
		ended("done", s.Ends.Done),
		ended("moved", s.Ends.Moved),
		ended("gone", s.Ends.Gone),
		ended("slow", s.Ends.Slow),
		ended("expired", s.Ends.Expired),
		ended("drained", s.Ends.Drained),
	}
}

func hubMetrics(s stream.HubStats) []prometheus.Metric {
	return []prometheus.Metric{
		gauge("tsumugi_texts", "Answers that are being written here or followed on other servers.", s.Texts),
		gauge("tsumugi_mirrors", "Answers of other servers that are followed here.", s.Mirrors),
		gauge("tsumugi_text_bytes", "Bytes of those answers' texts.", s.TextBytes),
		gauge("tsumugi_log_bytes", "Bytes of their events in memory.", s.LogBytes),
		counter("tsumugi_updates_sent_total", "Updates of texts that other servers can read.", s.EntriesSent),
		counter("tsumugi_updates_resent_total", "Updates that were sent again after an error.", s.EntriesResent),
		counter("tsumugi_updates_received_total", "Updates of other servers' texts.", s.EntriesReceived),
		counter("tsumugi_mirror_holes_total", "Times that a mirror was begun again because updates were missing.", s.Gaps),
		counter("tsumugi_stale_runs_total", "Texts that were dropped because a later run had begun.", s.StaleRuns),
	}
}

// lag returns the histogram of the time from publishing an event to the end of its write.
func lag(s sse.Stats) prometheus.Metric {
	count, buckets := uint64(0), make(map[float64]uint64, len(s.Lag))
	for _, bucket := range s.Lag {
		count += bucket.Count
		if bucket.UpTo > 0 {
			buckets[bucket.UpTo.Seconds()] = count
		}
	}
	desc := prometheus.NewDesc("tsumugi_stream_lag_seconds",
		"From publishing an event to the end of the write that carried it.", nil, nil)
	return prometheus.MustNewConstHistogram(desc, count, s.LagSum.Seconds(), buckets)
}

// WatchBridge adds a gauge that is 1 if this server is connected to the other servers.
func (t *Telemetry) WatchBridge(connected func() bool) {
	watch(t, connected, func(isConnected bool) []prometheus.Metric {
		value := 0
		if isConnected {
			value = 1
		}
		return []prometheus.Metric{
			gauge("tsumugi_nats_connected", "1 while this server is connected to NATS, else 0.", value),
		}
	})
}

// WatchTally adds the state of the exchange of counts between servers.
func (t *Telemetry) WatchTally(read func() tally.Stats) {
	watch(t, read, func(s tally.Stats) []prometheus.Metric {
		return []prometheus.Metric{
			gauge("tsumugi_limit_servers", "Other servers whose counts of calls arrive and are included in limits.",
				s.Servers),
			counter("tsumugi_limit_missed_total", "Interruptions after which counts of other servers may be missing.",
				s.Missed),
		}
	})
}

// WatchLive adds the number of open live sockets.
func (t *Telemetry) WatchLive(read func() int) {
	watch(t, read, func(open int) []prometheus.Metric {
		return []prometheus.Metric{gauge("tsumugi_live_sockets", "Open live connections of browsers.", open)}
	})
}
