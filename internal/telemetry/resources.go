package telemetry

import (
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/bucket"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
)

// WatchDatabase adds metrics of the connections to the database.
func (t *Telemetry) WatchDatabase(read func() *pgxpool.Stat) {
	const open, openHelp = "tsumugi_database_connections", "Connections to the database, by their state."
	watch(t, read, func(s *pgxpool.Stat) []prometheus.Metric {
		return []prometheus.Metric{
			gauge(open, openHelp, s.AcquiredConns(), "state", "used"),
			gauge(open, openHelp, s.IdleConns(), "state", "idle"),
			gauge("tsumugi_database_connections_max", "Maximum number of connections to the database.", s.MaxConns()),
			counter("tsumugi_database_waits_total", "Times that a call waited for a connection.", s.EmptyAcquireCount()),
		}
	})
}

// WatchMail adds metrics of mails.
func (t *Telemetry) WatchMail(read func() mail.Stats) {
	const name, help = "tsumugi_mails_total", "Mails, by result."
	watch(t, read, func(s mail.Stats) []prometheus.Metric {
		return []prometheus.Metric{
			counter(name, help, s.Sent, "result", "sent"),
			counter(name, help, s.Failed, "result", "failed"),
		}
	})
}

// WatchFiles adds metrics of the storage of uploaded files.
func (t *Telemetry) WatchFiles(read func() bucket.Stats) {
	const name, help = "tsumugi_file_operations_total", "Operations of the storage of uploaded files, by result."
	watch(t, read, func(s bucket.Stats) (metrics []prometheus.Metric) {
		for operation, count := range map[string]bucket.Count{"read": s.Reads, "write": s.Writes, "remove": s.Removals} {
			metrics = append(metrics,
				counter(name, help, count.Done, "operation", operation, "result", "done"),
				counter(name, help, count.Failed, "operation", operation, "result", "failed"))
		}
		return metrics
	})
}

// Upkeep contains times that operators monitor, as Unix times in seconds. 0 means none.
type Upkeep struct {
	LastBackup          int64 // End of the last successful backup.
	CertificateEnd      int64 // End of the first certificate for single sign-on that expires.
	AuditCertificateEnd int64 // End of the client certificate for receivers of the audit log.
}

// WatchUpkeep adds metrics of Upkeep.
func (t *Telemetry) WatchUpkeep(read func() Upkeep) {
	watch(t, read, func(u Upkeep) []prometheus.Metric {
		return []prometheus.Metric{
			gauge("tsumugi_last_backup_timestamp_seconds", "End of the last successful backup, 0 if there was none.",
				u.LastBackup),
			gauge("tsumugi_certificate_expiry_timestamp_seconds",
				"End of the first identity provider's certificate that expires, 0 without single sign-on.", u.CertificateEnd),
			gauge("tsumugi_audit_certificate_expiry_timestamp_seconds",
				"End of the client certificate for receivers of the audit log, 0 without one.", u.AuditCertificateEnd),
		}
	})
}

// WatchReadings adds metrics of the readings of uploaded files and of embeddings.
func (t *Telemetry) WatchReadings(read func() datasource.Stats) {
	const name, help = "tsumugi_readings_total", "Readings of uploaded files, by result."
	watch(t, read, func(s datasource.Stats) []prometheus.Metric {
		return []prometheus.Metric{
			counter(name, help, s.Read, "result", "read"),
			counter(name, help, s.Unreadable, "result", "unreadable"),
			counter(name, help, s.Interrupted, "result", "interrupted"),
			counter("tsumugi_embedded_texts_total", "Passages and questions that received a vector.", s.Embedded),
			counter("tsumugi_embedding_failures_total", "Failed requests to the embedding model.", s.EmbedFailures),
		}
	})
}
