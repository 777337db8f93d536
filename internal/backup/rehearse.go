package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/store"
)

// Report is the result of a rehearsal.
type Report struct {
	Snapshot   string        `json:"snapshot"`
	Version    string        `json:"version"` // Of the program that made the backup.
	Schema     int           `json:"schema"`
	PostgreSQL string        `json:"postgresql"`
	BackedUp   time.Time     `json:"backed_up"`
	Started    time.Time     `json:"started"`
	Seconds    float64       `json:"seconds"`
	OK         bool          `json:"ok"`
	Problems   []string      `json:"problems"` // The first maxProblems of them.
	Tables     []TableReport `json:"tables"`
	Files      FilesReport   `json:"files"`
}

// TableReport compares a restored table with the manifest.
type TableReport struct {
	Name          string `json:"name"`
	Rows          int64  `json:"rows"`
	Restored      int64  `json:"restored_rows"`
	SHA256        Hash   `json:"sha256"` // Of the rows.
	RestoredSHA   Hash   `json:"restored_sha256"`
	MatchesBackup bool   `json:"ok"`
}

// FilesReport counts the files that were read.
type FilesReport struct {
	Count    int   `json:"count"`
	Bytes    int64 `json:"bytes"`
	Verified int   `json:"verified"`
}

// maxProblems limits the number of problems in a report.
const maxProblems = 100

// rehearsal collects a report.
type rehearsal struct {
	mu     sync.Mutex // Guards report.
	report Report
}

func (r *rehearsal) problem(format string, args ...any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.report.OK = false; len(r.report.Problems) < maxProblems {
		r.report.Problems = append(r.report.Problems, fmt.Sprintf(format, args...))
	}
}

// Rehearse restores the tables into an empty database, reads them again and compares them with the manifest, migrates
// the database, and reads and verifies all files. The error is not nil only if the rehearsal was interrupted.
func (s *Source) Rehearse(ctx context.Context, db *store.DB, progress Progress) (Report, error) {
	m, started := &s.Manifest, time.Now().UTC()
	r := &rehearsal{report: Report{
		Snapshot: s.Snapshot, Version: m.Version, Schema: m.Schema, PostgreSQL: m.PostgreSQL, BackedUp: m.Started,
		Started: started, OK: true, Problems: []string{}, Tables: []TableReport{},
		Files: FilesReport{Count: m.Files.Count, Bytes: m.Files.Bytes},
	}}
	r.files(ctx, s, progress)
	r.tables(ctx, s, db, progress)
	r.report.Seconds = time.Since(started).Seconds()
	return r.report, ctx.Err()
}

func (r *rehearsal) files(ctx context.Context, s *Source, progress Progress) {
	done := counter{items: "files", total: len(s.files), progress: progress}
	_ = forEach(ctx, len(s.files), workers, func(ctx context.Context, i int) error {
		err := s.verifyFile(ctx, s.files[i])
		if err != nil && ctx.Err() == nil {
			r.problem("%v", err)
		}
		if err == nil {
			r.mu.Lock()
			r.report.Files.Verified++
			r.mu.Unlock()
		}
		done.add()
		return nil
	})
}

func (s *Source) verifyFile(ctx context.Context, file File) error {
	content, err := openObject(ctx, s.from, fileName(s.Manifest.Files.Folder, file.ID), file.Object, s.identities, false)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, content)
	return errors.Join(err, content.Close())
}

func (r *rehearsal) tables(ctx context.Context, s *Source, db *store.DB, progress Progress) {
	err := db.Restore(ctx, s.Manifest.Schema, func(loader *store.Loader) error {
		return s.load(ctx, loader, r.compare, progress)
	})
	for _, name := range s.Skipped {
		r.problem("table %s is no part of tsumugi's schema and was not restored: move it to another schema", name)
	}
	if err == nil {
		err = db.Migrate(ctx)
	}
	var ids []uuid.UUID
	if err == nil {
		ids, err = db.ListFiles(ctx)
	}
	if err != nil {
		r.problem("%v", err)
		return
	}
	copied := make(map[uuid.UUID]bool, len(s.files))
	for _, file := range s.files {
		copied[file.ID] = true
	}
	for _, id := range ids {
		if !copied[id] {
			r.problem("the database refers to the file %s, which the backup does not contain", id)
		}
	}
}

// compare adds a table to the report.
func (r *rehearsal) compare(want, got Table) {
	same := want == got
	r.report.Tables = append(r.report.Tables, TableReport{
		want.Name, want.Rows, got.Rows, want.ContentSHA256, got.ContentSHA256, same,
	})
	if !same {
		r.problem("table %s: the restored rows are not those of the backup", want.Name)
	}
}

// Markdown returns the report for people.
func (r *Report) Markdown() string {
	var b strings.Builder
	result := "**Succeeded**: the restored data is that of the backup."
	if !r.OK {
		result = "**Failed**: see the problems."
	}
	fmt.Fprintf(&b, "# Rehearsal of a restore, %s\n\n%s\n\n", r.Started.Format(time.DateOnly), result)
	fmt.Fprintf(&b, "| | |\n|---|---|\n| Backup | %s |\n| Made by | tsumugi %s, schema %d, PostgreSQL %s |\n"+
		"| Rehearsal began | %s |\n| Duration | %.1f s |\n| Files | %d of %d verified, %d bytes |\n\n", r.Snapshot, r.Version,
		r.Schema, r.PostgreSQL, r.Started.Format(time.RFC3339), r.Seconds, r.Files.Verified,
		r.Files.Count, r.Files.Bytes)
	if len(r.Problems) > 0 {
		fmt.Fprintf(&b, "## Problems\n\n")
		for _, problem := range r.Problems {
			fmt.Fprintf(&b, "- %s\n", problem)
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "## Tables\n\n| table | rows in the backup | restored | SHA-256 of the rows | same |\n|---|---|---|---|---|\n")
	for _, table := range r.Tables {
		same := "yes"
		if !table.MatchesBackup {
			same = "no"
		}
		fmt.Fprintf(&b, "| %s | %d | %d | %x | %s |\n", table.Name, table.Rows, table.Restored, table.SHA256, same)
	}
	return b.String()
}
