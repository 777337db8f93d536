package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
	"github.com/tsumugi-ai/tsumugi/store/postgres"
)

// The data of a backup: data sources with a file and passages each, a gigabyte of passages in all.
const (
	backupFiles    = 10_000
	backupFileSize = 20_000 // In bytes.
	backupPassages = 64     // Of a data source, of 400 characters.
	backupRate     = 20     // Calls a second meanwhile.
)

// Columns of the section.
const (
	quiet   = "no backup"
	backing = "backup"
)

// measureBackup makes backups into empty folders, and measures the calls of one person while they run and in between.
func measureBackup(ctx context.Context, b *bench) error {
	files := backupFiles
	if b.quick {
		files /= 50
	}
	t := newTable("Backup",
		fmt.Sprintf("`tsumugi backup` of %d files of %d kB and a database with %d passages into an empty folder, while one "+
			"person lists threads, lists messages and renames a thread, %d calls a second; ms from the time when a call is due. "+
			"After each, calls without a backup for at most a minute.", files, backupFileSize/1000, files*backupPassages, backupRate),
		quiet, quiet, backing)
	b.report.Sections = append(b.report.Sections, t)
	db, err := postgres.Start(ctx, postgres.Config{DataDir: filepath.Join(b.dir, "backup")})
	if err != nil {
		return err
	}
	defer func() { _ = db.Stop(context.WithoutCancel(ctx)) }()
	folder := filepath.Join(b.dir, "backup-files")
	p := &product{database: db.DSN(), environ: []string{"BLOB_URL=file://" + folder}}
	defer p.stop()
	if err := p.start(ctx, b); err != nil {
		return err
	}
	b.say("Backup: filling %d files", files)
	size, err := fillBackup(ctx, db.DSN(), filepath.Join(folder, "data-source"), files)
	if err != nil {
		return err
	}
	threads, err := p.threads(ctx, 20)
	if err != nil {
		return err
	}
	for range b.rounds {
		b.say("Backup")
		target := filepath.Join(b.dir, "backup-target")
		var took time.Duration
		during, err := p.callWhile(ctx, threads, func() error {
			//nolint:gosec // The program is the measured one.
			backup := exec.CommandContext(ctx, b.tsumugi, "backup", "--new-target", target)
			backup.Env = append(append(os.Environ(), p.environ...), "DATABASE_URL="+p.database)
			began := time.Now()
			out, err := backup.CombinedOutput()
			took = time.Since(began)
			if err != nil {
				return fmt.Errorf("backup: %w: %s", err, out)
			}
			return os.RemoveAll(target)
		})
		if err != nil {
			return err
		}
		otherwise, err := p.callWhile(ctx, threads, func() error {
			<-time.After(min(took, time.Minute))
			return ctx.Err()
		})
		if err != nil {
			return err
		}
		t.add("MB of the database", backing, 0, float64(size)/1e6)
		t.add("s", backing, 1, took.Seconds())
		for column, calls := range map[string][]float64{quiet: otherwise, backing: during} {
			t.add("p50", column, 1, quantile(calls, 0.5))
			t.add("p99", column, 1, quantile(calls, 0.99))
		}
	}
	b.report.atMostMedian(fmt.Sprintf("backup of %.0f MB and %d files", float64(size)/1e6, files), t, "s", backing, 300, 1, " s")
	b.report.atMostTimes("calls during a backup, p99", t, "p99", backing, quiet, 1.5, 2)
	return nil
}

// callWhile makes calls at backupRate until do returns, and returns the duration of each in ms.
func (p *product) callWhile(ctx context.Context, threads []string, do func() error) ([]float64, error) {
	var failed error
	done := make(chan struct{})
	go func() {
		failed = do()
		close(done)
	}()
	took, err := atRate(ctx, backupRate, done, func(i int) error {
		thread := threads[i%len(threads)]
		switch i % 4 {
		case 0:
			return p.client.Call(ctx, "PUT", "/v1/thread/"+thread, map[string]string{"title": fmt.Sprintf("第%d回", i)}, nil)
		case 1:
			return p.client.Call(ctx, "GET", "/v1/message?limit=20&thread_id="+thread, nil, nil)
		default:
			return p.client.Call(ctx, "GET", "/v1/thread?limit=20", nil, nil)
		}
	})
	<-done
	return took, errors.Join(err, failed)
}

// fillBackup writes data sources of the demo user into the database and their files into a folder, and returns the size
// of the database in bytes.
func fillBackup(ctx context.Context, dsn, folder string, files int) (size int64, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	random := rand.New(rand.NewPCG(11, 12))            //nolint:gosec // The texts are the same in each run.
	if err := os.MkdirAll(folder, 0o755); err != nil { //nolint:gosec // It contains no secrets.
		return 0, err
	}
	for i := range files {
		id := uuidv7.New()
		var organization uuid.UUID
		err := conn.QueryRow(ctx, `
			INSERT INTO data_sources (id, organization_id, user_id, filename, media_type, size, sha256, status, page_count,
			    chunk_count)
			SELECT $1, organization_id, id, $2, 'text/plain', $3, sha256($2::text::bytea), 'success', 1, $4
			FROM users WHERE email = $5 RETURNING organization_id`,
			id, fmt.Sprintf("資料%d.txt", i), backupFileSize, backupPassages, demoUser).Scan(&organization)
		if err != nil {
			return 0, err
		}
		_, err = conn.CopyFrom(ctx, pgx.Identifier{"data_source_chunks"},
			[]string{"id", "organization_id", "data_source_id", "ordinal", "page", "start_byte", "end_byte", "locator", "text"},
			pgx.CopyFromSlice(backupPassages, func(n int) ([]any, error) {
				return []any{uuidv7.New(), organization, id, n, 1, 0, 0, "", pageText(random, 400)}, nil
			}))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, id.String()), []byte(pageText(random, backupFileSize/3)), 0o600)
		}
		if err != nil {
			return 0, err
		}
	}
	err = conn.QueryRow(ctx, `SELECT pg_database_size(current_database())`).Scan(&size)
	return size, err
}
