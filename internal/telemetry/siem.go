package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsumugi-ai/tsumugi/internal/siem"
)

// WatchSIEM adds metrics of sending the audit log.
func (t *Telemetry) WatchSIEM(read func() []siem.Stats) {
	watch(t, read, func(sinks []siem.Stats) (metrics []prometheus.Metric) {
		for _, s := range sinks {
			metrics = append(metrics,
				gauge("tsumugi_audit_lag_seconds", "Age of the oldest event of the audit log that a sink has not sent.",
					int64(s.Lag.Seconds()), "sink", s.Sink),
				gauge("tsumugi_audit_waiting", "Events of the audit log that a sink has not sent.", s.Waiting, "sink", s.Sink),
				counter("tsumugi_audit_sent_total", "Events that this server sent, with repetitions and refused ones.",
					s.Sent, "sink", s.Sink),
				counter("tsumugi_audit_refused_total", "Events that a receiver refused, which are not sent again.",
					s.Refused, "sink", s.Sink))
		}
		return metrics
	})
}
