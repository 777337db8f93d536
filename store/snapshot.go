package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/migrations"
)

// backupLock is the key of the advisory lock that a backup holds from before its snapshot until its end. Meanwhile no
// server removes files: see [DB.ListOrphans]. It is a lock of the session, which PostgreSQL releases when the
// connection ends, even if the process was killed. A row in a table would need an expiry and someone who renews it.
const backupLock = `hashtext('tsumugi backup')`

// errBackupRunning means that another backup of the same database is running.
var errBackupRunning = errors.New("another backup or export of this database is running; try again when it has ended")

// copySettings make COPY independent of the settings of the role and the database, and allow it to take long. The
// keepalives end the connection, and with it the backup's lock, within a minute after the client's machine has failed.
var copySettings = map[string]string{
	"statement_timeout": "0", "lock_timeout": "10s", "idle_in_transaction_session_timeout": "0",
	"idle_session_timeout": "0", "transaction_timeout": "0",
	"datestyle": "ISO, YMD", "intervalstyle": "postgres", "timezone": "UTC", "extra_float_digits": "1",
	"bytea_output": "hex", "xmloption": "content", "row_security": "off",
	"synchronize_seqscans": "off", // Rows are read from the beginning of a table's file.
	"tcp_keepalives_idle":  "30", "tcp_keepalives_interval": "10", "tcp_keepalives_count": "3",
}

// connectCopy returns a connection with copySettings, outside the pool.
func (db *DB) connectCopy(ctx context.Context) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, db.pool.Config().ConnConfig)
	if err != nil {
		return nil, fmt.Errorf("the database: %w", err)
	}
	if err := applySettings(ctx, conn, copySettings); err != nil {
		return nil, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	return conn, nil
}

// Snapshot is a consistent view of the whole database, for a backup. Until Close, servers remove no files. Its methods
// must not be called concurrently.
type Snapshot struct {
	SchemaVersion int
	PostgreSQL    string   // Version of the server, such as "15.18".
	Tables        []string // All tables except the one with the version of the schema, sorted.

	conn *pgx.Conn
}

// OpenSnapshot begins a backup. The schema must be the current one, because only then this program knows where the
// database refers to files and keys. The caller must close the snapshot.
func (db *DB) OpenSnapshot(ctx context.Context) (_ *Snapshot, err error) {
	conn, err := db.connectCopy(ctx)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{conn: conn}
	if err := s.begin(ctx); err != nil {
		s.Close(ctx)
		return nil, err
	}
	return s, nil
}

func (s *Snapshot) begin(ctx context.Context) error {
	_, err := s.conn.Exec(ctx, `SELECT pg_advisory_lock(`+backupLock+`)`)
	if hasCode(err, codeLockTimeout) {
		return errBackupRunning
	}
	if err != nil {
		return err
	}
	before, err := listRelations(ctx, s.conn, tableKind)
	if err != nil {
		return err
	}
	if len(before) == 0 {
		return errors.New("the database has no tables; start a server on it first")
	}
	// The tables are locked before the snapshot is taken, so that it fits their definitions.
	if _, err := s.conn.Exec(ctx, `
		BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
		LOCK TABLE `+identifiers(before)+` IN ACCESS SHARE MODE`); err != nil {
		return fmt.Errorf("locking the tables against changes of the schema: %w", err)
	}
	if s.Tables, err = listRelations(ctx, s.conn, tableKind); err != nil {
		return err
	}
	if !slices.Equal(before, s.Tables) {
		return errors.New("the schema is being migrated; try again")
	}
	if err := s.conn.QueryRow(ctx, `
		SELECT version, split_part(current_setting('server_version'), ' ', 1)
		FROM public.schema_version`).Scan(&s.SchemaVersion, &s.PostgreSQL); err != nil {
		return err
	}
	if known := migrations.Newest(); s.SchemaVersion != known {
		return fmt.Errorf("the schema of the database has version %d, this program knows %d; make the backup with the "+
			"version of tsumugi that the servers run", s.SchemaVersion, known)
	}
	return nil
}

// Kinds of relations, as in pg_class.
const (
	tableKind    = "r"
	sequenceKind = "S"
)

// listRelations returns the tables or the sequences of the schema, sorted.
func listRelations(ctx context.Context, q querier, kind string) ([]string, error) {
	return queryValues[string](ctx, q, `
		SELECT relname::text
		FROM pg_class
		WHERE relnamespace = current_schema()::regnamespace AND relkind::text = $1 AND relname <> 'schema_version'
		ORDER BY relname::text COLLATE "C"`, kind)
}

func identifiers(names []string) string {
	return strings.Join(convert(names, func(name string) string { return pgx.Identifier{name}.Sanitize() }), ", ")
}

// CopyTable writes all rows of a table in PostgreSQL's text format, and returns their number.
func (s *Snapshot) CopyTable(ctx context.Context, table string, w io.Writer) (rows int64, err error) {
	return copyTable(ctx, s.conn, table, w)
}

func copyTable(ctx context.Context, conn *pgx.Conn, table string, w io.Writer) (rows int64, err error) {
	tag, err := conn.PgConn().CopyTo(ctx, w, `COPY `+identifiers([]string{table})+` TO STDOUT`)
	return tag.RowsAffected(), err
}

// Sequence is the state of a sequence: the last value, and whether it was already used.
type Sequence struct {
	Name   string `json:"name"`
	Value  int64  `json:"value"`
	Called bool   `json:"called"`
}

// Sequences returns the state of all sequences. Their values are not older than the snapshot.
func (s *Snapshot) Sequences(ctx context.Context) ([]Sequence, error) {
	names, err := listRelations(ctx, s.conn, sequenceKind)
	if err != nil {
		return nil, err
	}
	all := make([]Sequence, 0, len(names))
	for _, name := range names {
		sequence, err := queryRow[Sequence](ctx, s.conn, `
			SELECT $1::text AS name, last_value AS value, is_called AS called FROM `+identifiers([]string{name}), name)
		if err != nil {
			return nil, err
		}
		all = append(all, sequence)
	}
	return all, nil
}

// Files returns the ids of the files that the snapshot refers to, sorted.
func (s *Snapshot) Files(ctx context.Context) ([]uuid.UUID, error) { return listFiles(ctx, s.conn) }

// ListFiles returns the ids of all files that the database refers to, sorted.
func (db *DB) ListFiles(ctx context.Context) ([]uuid.UUID, error) { return listFiles(ctx, db.pool) }

func listFiles(ctx context.Context, q querier) ([]uuid.UUID, error) {
	return queryValues[uuid.UUID](ctx, q, `
		SELECT id FROM data_sources
		UNION ALL
		SELECT id FROM pictures
		ORDER BY id`)
}

// SecretKeys returns the ids of the keys that sealed secrets in the snapshot need, sorted.
func (s *Snapshot) SecretKeys(ctx context.Context) ([]string, error) {
	ids := []string{}
	for _, table := range secretTables {
		rows, err := queryRows[struct{ ID, Kept string }](ctx, s.conn, table.read)
		if err != nil {
			return nil, err
		}
		for _, row := range rows {
			if id, ok := secret.KeyID(row.Kept); ok {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// Check returns an error if the connection was lost. Servers may then have removed files of the snapshot.
func (s *Snapshot) Check(ctx context.Context) error {
	if err := s.conn.Ping(ctx); err != nil {
		return fmt.Errorf("the connection to the database was lost, and with it the lock of this backup: %w", err)
	}
	return nil
}

// End ends the transaction, so that the database can remove old rows again. Servers still remove no files.
func (s *Snapshot) End(ctx context.Context) error {
	_, err := s.conn.Exec(ctx, `COMMIT`)
	return err
}

// Close ends the snapshot. It may be called after End. The lock is released when Close returns, unless an error ended the
// connection; then PostgreSQL releases it shortly afterwards.
func (s *Snapshot) Close(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	_, _ = s.conn.Exec(ctx, `SELECT pg_advisory_unlock_all()`)
	_ = s.conn.Close(ctx)
}

// closeTimeout bounds the end of a snapshot when the database does not respond.
const closeTimeout = 10 * time.Second
