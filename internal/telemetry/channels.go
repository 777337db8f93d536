package telemetry

import "github.com/tsumugi-ai/tsumugi/internal/channel"

// WatchChannels adds metrics of conversations in chat services such as Slack.
func (t *Telemetry) WatchChannels(read func() channel.Stats) {
	t.registry.MustRegister(newSnapshots(read, []series[channel.Stats]{
		gauge("tsumugi_channel_events_waiting", "Events of all servers that wait or are being handled.",
			func(s channel.Stats) int { return s.Waiting }),
		gauge("tsumugi_channel_events_handling", "Events that are handled here.",
			func(s channel.Stats) int { return s.Handling }),
		gauge("tsumugi_channel_deliveries_running", "Answers that are delivered here.",
			func(s channel.Stats) int { return s.Delivering }),
		counter("tsumugi_channel_events_taken_total", "New events.",
			func(s channel.Stats) int64 { return s.Enqueued }),
		counter("tsumugi_channel_events_repeated_total", "Events that were known.",
			func(s channel.Stats) int64 { return s.Duplicates }),
		counter("tsumugi_channel_rate_limited_total", "Calls that a surface refused for its rate limit.",
			func(s channel.Stats) int64 { return s.Limited }),
		counter("tsumugi_channel_calls_failed_total", "Calls of a surface that failed otherwise.",
			func(s channel.Stats) int64 { return s.Failed }),
		counter("tsumugi_channel_deliveries_taken_over_total", "Deliveries that this server went on with.",
			func(s channel.Stats) int64 { return s.Takeovers }),
		counter("tsumugi_channel_deliveries_ended_total", "Answers that were delivered to their end.",
			func(s channel.Stats) int64 { return s.Delivered }),
	}))
}
