package store

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/tern/v2/migrate"

	"github.com/tsumugi-ai/tsumugi/migrations"
)

// errNotEmpty means that a backup cannot be restored into the database, because it has tables already.
var errNotEmpty = errors.New("the database is not empty; restore into a new one")

// CheckEmpty returns errNotEmpty if the database contains anything that does not belong to an extension.
func (db *DB) CheckEmpty(ctx context.Context) error { return checkEmpty(ctx, db.pool) }

func checkEmpty(ctx context.Context, q querier) error {
	found, err := queryValue[bool](ctx, q, `
		SELECT EXISTS (
			SELECT FROM pg_class c
			WHERE c.relnamespace IN (current_schema()::regnamespace, 'public'::regnamespace)
			  AND NOT EXISTS (
				SELECT FROM pg_depend d
				WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'))`)
	if err == nil && found {
		err = errNotEmpty
	}
	return err
}

// Restore creates a version of the schema in an empty database and calls load to fill its tables, in one transaction.
// Foreign keys are checked at its end, and triggers do not run, so that the tables can be loaded in any order. It needs
// the rights of the database's owner only. If the version is an older one, [DB.Migrate] must be called afterwards.
func (db *DB) Restore(ctx context.Context, version int, load func(*Loader) error) error {
	conn, err := db.connectCopy(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if err := checkEmpty(ctx, tx); err != nil {
			return err
		}
		if err := createSchema(ctx, tx, version); err != nil {
			return err
		}
		tables, err := listRelations(ctx, tx, tableKind)
		if err != nil {
			return err
		}
		sequences, err := listRelations(ctx, tx, sequenceKind)
		if err != nil {
			return err
		}
		restoreChecks, err := dropChecks(ctx, tx, tables)
		if err != nil {
			return err
		}
		// Removes the rows that migrations have inserted. COPY appends to a table whose file is this transaction's, so
		// that CopyTable returns the rows in the order of LoadTable.
		if err := exec(ctx, tx, `TRUNCATE `+identifiers(tables)); err != nil {
			return err
		}
		if err := load(&Loader{Tables: tables, Sequences: sequences, conn: conn}); err != nil {
			return err
		}
		for _, statement := range append(restoreChecks, `ANALYZE`) {
			if err := exec(ctx, tx, statement); err != nil {
				return fmt.Errorf("%s: %w", statement, err)
			}
		}
		return nil
	})
}

// createSchema applies the first migrations in a transaction.
func createSchema(ctx context.Context, tx pgx.Tx, version int) error {
	m, err := migrate.NewMigrator(ctx, nil, versionTable) // Reads the steps only.
	if err != nil {
		return err
	}
	if err := m.LoadMigrations(migrations.Files); err != nil {
		return err
	}
	if version < 1 || version > len(m.Migrations) {
		return fmt.Errorf("this program has no schema of version %d", version)
	}
	for _, step := range m.Migrations[:version] {
		// A later step could not change a table whose deferred triggers have not run.
		if _, err := tx.Exec(ctx, step.UpSQL+"\n;SET CONSTRAINTS ALL IMMEDIATE", pgx.QueryExecModeSimpleProtocol); err != nil {
			return fmt.Errorf("%s: %w", step.Name, err)
		}
	}
	_, err = tx.Exec(ctx, fmt.Sprintf(`
		CREATE TABLE %s (version int4 NOT NULL);
		INSERT INTO %s (version) VALUES (%d)`, versionTable, versionTable, version), pgx.QueryExecModeSimpleProtocol)
	return err
}

// dropChecks drops the foreign keys and disables the triggers. It returns the statements that restore them.
func dropChecks(ctx context.Context, tx pgx.Tx, tables []string) (restore []string, _ error) {
	keys, err := queryRows[struct{ Remove, Add string }](ctx, tx, `
		SELECT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) AS remove,
		       format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) AS add
		FROM pg_constraint
		WHERE contype = 'f' AND connamespace = current_schema()::regnamespace
		ORDER BY conrelid::regclass::text, conname`)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		if err := exec(ctx, tx, key.Remove); err != nil {
			return nil, err
		}
		restore = append(restore, key.Add)
	}
	for _, table := range tables {
		alter := `ALTER TABLE ` + identifiers([]string{table})
		if err := exec(ctx, tx, alter+` DISABLE TRIGGER USER`); err != nil {
			return nil, err
		}
		restore = append(restore, alter+` ENABLE TRIGGER USER`)
	}
	return restore, nil
}

// Loader fills the tables of a database that is being restored.
type Loader struct {
	Tables    []string // All tables, sorted. They are empty.
	Sequences []string // All sequences, sorted.

	conn *pgx.Conn
}

// LoadTable adds rows in PostgreSQL's text format to a table and returns their number.
func (l *Loader) LoadTable(ctx context.Context, table string, r io.Reader) (rows int64, err error) {
	tag, err := l.conn.PgConn().CopyFrom(ctx, r, `COPY `+identifiers([]string{table})+` FROM STDIN`)
	return tag.RowsAffected(), err
}

// CopyTable writes the rows of a table in the format and the order of LoadTable, and returns their number.
func (l *Loader) CopyTable(ctx context.Context, table string, w io.Writer) (rows int64, err error) {
	return copyTable(ctx, l.conn, table, w)
}

// SetSequence sets the state of a sequence.
func (l *Loader) SetSequence(ctx context.Context, s Sequence) error {
	return exec(ctx, l.conn, `SELECT setval($1::text::regclass, $2, $3)`, identifiers([]string{s.Name}), s.Value, s.Called)
}

// Checkpoint writes all changes to disk. Without it, the embedded server of a large restored database would not stop in
// time, and its next start would have to recover it. It needs a superuser.
func (db *DB) Checkpoint(ctx context.Context) error {
	conn, err := db.connectCopy(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return exec(ctx, conn, `CHECKPOINT`)
}

// dropTimeout bounds the removal of a temporary database.
const dropTimeout = time.Minute

// OpenTemporary creates an empty database on the same server and connects to it. The role needs the right CREATEDB. The
// caller must call drop, which closes the connections and drops the database.
func (db *DB) OpenTemporary(ctx context.Context) (_ *DB, drop func() error, _ error) {
	cfg := db.pool.Config()
	cfg.ConnConfig.Database = "tsumugi_rehearsal_" + strings.ToLower(rand.Text())
	name := identifiers([]string{cfg.ConnConfig.Database})
	if err := exec(ctx, db.pool, `CREATE DATABASE `+name+` TEMPLATE template0 ENCODING 'UTF8'`); err != nil {
		return nil, nil, fmt.Errorf("creating a temporary database: %w", err)
	}
	dropDatabase := func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropTimeout)
		defer cancel()
		return exec(ctx, db.pool, `DROP DATABASE `+name)
	}
	other, err := open(ctx, cfg)
	if err != nil {
		return nil, nil, errors.Join(err, dropDatabase())
	}
	return other, func() error {
		other.Close()
		return dropDatabase()
	}, nil
}
