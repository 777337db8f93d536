package telemetry

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
)

// WatchChannels adds metrics of conversations in chat services such as Slack.
func (t *Telemetry) WatchChannels(read func() channel.Stats) {
	watch(t, read, func(s channel.Stats) []prometheus.Metric {
		return []prometheus.Metric{
			gauge("tsumugi_channel_events_waiting", "Events of all servers that wait or are being handled.", s.Waiting),
			gauge("tsumugi_channel_events_handling", "Events that are handled here.", s.Handling),
			gauge("tsumugi_channel_deliveries_running", "Answers that are delivered here.", s.Delivering),
			counter("tsumugi_channel_events_taken_total", "New events.", s.Enqueued),
			counter("tsumugi_channel_events_repeated_total", "Events that were known.", s.Duplicates),
			counter("tsumugi_channel_rate_limited_total", "Calls that a surface refused for its rate limit.", s.Limited),
			counter("tsumugi_channel_calls_failed_total", "Calls of a surface that failed otherwise.", s.Failed),
			counter("tsumugi_channel_deliveries_taken_over_total", "Deliveries that this server went on with.", s.Takeovers),
			counter("tsumugi_channel_deliveries_ended_total", "Answers that were delivered to their end.", s.Delivered),
			counter("tsumugi_channel_deliveries_given_up_total", "Answers that could not be delivered.", s.Abandoned),
		}
	})
}
