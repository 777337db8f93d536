package store

import (
	"context"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/identity/saml"
)

// otherConns is the number of connections that a server opens in addition to the pool: listeners, jobs and the lease.
const otherConns = 6

// healthProbes is the number of queries of Health. The fastest one counts.
const healthProbes = 3

// Health describes the database server, for operators.
type Health struct {
	Version     string        // Such as "15.18".
	Major       int           // Such as 15.
	Latency     time.Duration // Time of the fastest of some queries.
	ClockOffset time.Duration // The clock of the database minus that of this machine.
	FreeConns   int           // Connections that are left for this database's clients, including their current ones.
	NeededConns int           // Maximum number of connections of one server of this program.
}

type healthRow struct {
	Version string
	Number  int
	Clock   time.Time
	Free    int
}

// Health measures the database server.
func (db *DB) Health(ctx context.Context) (h Health, err error) {
	for probe := range healthProbes {
		began := time.Now()
		// pg_stat_activity does not show the databases of other users' sessions, pg_stat_database counts them.
		row, err := queryRow[healthRow](ctx, db.priorityPool, `
			SELECT split_part(current_setting('server_version'), ' ', 1) AS version,
			    current_setting('server_version_num')::int AS number, clock_timestamp() AS clock,
			    current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
			        - coalesce(sum(numbackends), 0)::int AS free
			FROM pg_stat_database WHERE datname <> current_database()`)
		if err != nil {
			return Health{}, err
		}
		if took := time.Since(began); probe == 0 || took < h.Latency {
			h.Latency, h.ClockOffset = took, row.Clock.Sub(began.Add(took/2))
		}
		h.Version, h.Major, h.FreeConns = row.Version, row.Number/10_000, row.Free
	}
	h.NeededConns = int(db.pool.Config().MaxConns) + otherConns
	return h, nil
}

// RecordBackup stores when a successful backup has ended. The caller holds the lock of backups, so that the last call is
// that of the last backup. An earlier time replaces a later one, which a clock that was ahead has caused.
func (db *DB) RecordBackup(ctx context.Context, at time.Time) error {
	return exec(ctx, db.pool, `
		INSERT INTO last_backup (ended_at) VALUES ($1)
		ON CONFLICT (id) DO UPDATE SET ended_at = excluded.ended_at`, at)
}

// LastBackup returns when the last successful backup ended, or the zero time before the first backup.
func (db *DB) LastBackup(ctx context.Context) (time.Time, error) {
	at, err := queryValue[time.Time](ctx, db.pool, `SELECT ended_at FROM last_backup`)
	return at, ifNoRows(err, nil)
}

// FirstCertificateEnd returns when the first organization's single sign-on ends because the certificates of its identity
// provider have expired. It returns the zero time if no organization uses SAML, or no certificate can be read.
func (db *DB) FirstCertificateEnd(ctx context.Context) (first time.Time, _ error) {
	providers, err := db.SAMLProviders(ctx)
	for _, provider := range providers {
		end := saml.CertificateEnd(provider.Certificates)
		if !end.IsZero() && (first.IsZero() || end.Before(first)) {
			first = end
		}
	}
	return first, err
}
