package telemetry

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
)

// WatchDatabase adds metrics of the connections to the database.
func (t *Telemetry) WatchDatabase(read func() *pgxpool.Stat) {
	const open, openHelp = "tsumugi_database_connections", "Connections to the database, by their state."
	t.registry.MustRegister(newSnapshots(read, []series[*pgxpool.Stat]{
		gauge(open, openHelp, func(s *pgxpool.Stat) int { return int(s.AcquiredConns()) }, "state", "used"),
		gauge(open, openHelp, func(s *pgxpool.Stat) int { return int(s.IdleConns()) }, "state", "idle"),
		gauge("tsumugi_database_connections_max", "Maximum number of connections to the database.",
			func(s *pgxpool.Stat) int { return int(s.MaxConns()) }),
		counter("tsumugi_database_waits_total", "Times that a call waited for a connection.",
			func(s *pgxpool.Stat) int64 { return s.EmptyAcquireCount() }),
	}))
}

// WatchMail adds metrics of mails.
func (t *Telemetry) WatchMail(read func() mail.Stats) {
	const name, help = "tsumugi_mails_total", "Mails, by result."
	t.registry.MustRegister(newSnapshots(read, []series[mail.Stats]{
		counter(name, help, func(s mail.Stats) int64 { return s.Sent }, "result", "sent"),
		counter(name, help, func(s mail.Stats) int64 { return s.Failed }, "result", "failed"),
	}))
}

// WatchReadings adds metrics of the readings of uploaded files.
func (t *Telemetry) WatchReadings(read func() datasource.Stats) {
	const name, help = "tsumugi_readings_total", "Readings of uploaded files, by result."
	t.registry.MustRegister(newSnapshots(read, []series[datasource.Stats]{
		counter(name, help, func(s datasource.Stats) int64 { return s.Read }, "result", "read"),
		counter(name, help, func(s datasource.Stats) int64 { return s.Unreadable }, "result", "unreadable"),
		counter(name, help, func(s datasource.Stats) int64 { return s.Interrupted }, "result", "interrupted"),
	}))
}
