package telemetry

import (
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/bucket"
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

// WatchFiles adds metrics of the storage of uploaded files.
func (t *Telemetry) WatchFiles(read func() bucket.Stats) {
	const name, help = "tsumugi_file_operations_total", "Operations of the storage of uploaded files, by result."
	operations := map[string]func(bucket.Stats) bucket.Count{
		"read":   func(s bucket.Stats) bucket.Count { return s.Reads },
		"write":  func(s bucket.Stats) bucket.Count { return s.Writes },
		"remove": func(s bucket.Stats) bucket.Count { return s.Removals },
	}
	var all []series[bucket.Stats]
	for operation, of := range operations {
		all = append(all,
			counter(name, help, func(s bucket.Stats) int64 { return of(s).Done }, "operation", operation, "result", "done"),
			counter(name, help, func(s bucket.Stats) int64 { return of(s).Failed }, "operation", operation, "result", "failed"))
	}
	t.registry.MustRegister(newSnapshots(read, all))
}

// Upkeep contains times that operators monitor, as Unix times in seconds. 0 means none.
type Upkeep struct {
	LastBackup     int64 // End of the last successful backup.
	CertificateEnd int64 // End of the first certificate for single sign-on that expires.
}

// WatchUpkeep adds metrics of Upkeep.
func (t *Telemetry) WatchUpkeep(read func() Upkeep) {
	t.registry.MustRegister(newSnapshots(read, []series[Upkeep]{
		gauge("tsumugi_last_backup_timestamp_seconds", "End of the last successful backup, 0 if there was none.",
			func(u Upkeep) int64 { return u.LastBackup }),
		gauge("tsumugi_certificate_expiry_timestamp_seconds",
			"End of the first identity provider's certificate that expires, 0 without single sign-on.",
			func(u Upkeep) int64 { return u.CertificateEnd }),
	}))
}

// WatchReadings adds metrics of the readings of uploaded files and of embeddings.
func (t *Telemetry) WatchReadings(read func() datasource.Stats) {
	const name, help = "tsumugi_readings_total", "Readings of uploaded files, by result."
	t.registry.MustRegister(newSnapshots(read, []series[datasource.Stats]{
		counter(name, help, func(s datasource.Stats) int64 { return s.Read }, "result", "read"),
		counter(name, help, func(s datasource.Stats) int64 { return s.Unreadable }, "result", "unreadable"),
		counter(name, help, func(s datasource.Stats) int64 { return s.Interrupted }, "result", "interrupted"),
		counter("tsumugi_embedded_texts_total", "Passages and questions that received a vector.",
			func(s datasource.Stats) int64 { return s.Embedded }),
		counter("tsumugi_embedding_failures_total", "Failed requests to the embedding model.",
			func(s datasource.Stats) int64 { return s.EmbedFailures }),
	}))
}
