package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/backup"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/postgres"
)

type backupCommand struct {
	Target string `arg:"" help:"Folder, as a path or file:///backups/tsumugi, or bucket, as s3://name?region=ap-northeast-1. Each installation needs its own."`

	Recipient      []string `placeholder:"age1…" help:"Encrypt for the owner of this age key. May be repeated."`
	RecipientsFile []string `type:"existingfile" placeholder:"FILE" help:"Encrypt for the age recipients in this file, one a line. May be repeated."`
	Keep           int      `placeholder:"N" help:"Remove older backups from the target, so that N remain. Default: all remain."`
	NewTarget      bool     `help:"Accept a folder without backups although this database was backed up before. By default it is refused, because its disk may not be mounted."`
	FullSpeed      bool     `help:"Make no pauses. By default the backup works a third of the time, so that the servers' response times change little."`

	operation    `embed:""`
	fileSettings `embed:""`
}

// Validate is called by kong after parsing.
func (c *backupCommand) Validate() error {
	if c.Keep < 0 {
		return errors.New("--keep must not be negative")
	}
	return errors.Join(c.checkFiles(), checkTarget(c.Target))
}

// checkTarget checks the location of backups, which is a path or a URL.
func checkTarget(target string) error {
	if strings.Contains(target, "://") && !isLocation(target) {
		return errors.New("the location of the backup " + locationHelp)
	}
	return nil
}

// Run makes a backup and prints a summary.
func (c *backupCommand) Run(ctx context.Context, db *store.DB, out *output, logs *logOutput) error {
	recipients, err := c.recipients()
	if err != nil {
		return err
	}
	files, err := c.openFiles(ctx, c.Data)
	if err != nil {
		return err
	}
	defer func() { _ = files.Close() }()
	target, err := openLocation(ctx, c.Target)
	if err != nil {
		return fmt.Errorf("the target: %w", err)
	}
	defer func() { _ = target.Close() }()
	_, isFolder := locationFolder(c.Target)
	pace := backup.NewPace(ctx)
	if c.FullSpeed {
		pace = io.Discard
	}
	began, progress := time.Now(), newProgress(logs)
	made, err := backup.Run(ctx, db, files, target, backup.Options{
		Version: version, Recipients: recipients, Keep: c.Keep, Expect: isFolder && !c.NewTarget,
		Sequential: isFolder && !c.FullSpeed, Pace: pace, Progress: progress.report,
	})
	if err != nil {
		return err
	}
	rows := int64(0)
	for _, table := range made.Manifest.Tables {
		rows += table.Rows
	}
	_, err = fmt.Fprintf(out, "Backup %s: %d tables with %d rows, %d files with %d bytes (%d of them new), in %v. "+
		"%d older backups were removed.\n", made.Snapshot, len(made.Manifest.Tables), rows, made.Manifest.Files.Count,
		made.Manifest.Files.Bytes, made.Copied, time.Since(began).Round(time.Millisecond), made.Removed)
	return err
}

// recipients parses the recipients of the command line and of the files.
func (c *backupCommand) recipients() (backup.Recipients, error) {
	if len(c.Recipient)+len(c.RecipientsFile) == 0 {
		return backup.Recipients{}, nil
	}
	lines, err := readLines(c.Recipient, c.RecipientsFile)
	if err != nil {
		return backup.Recipients{}, err
	}
	recipients, err := backup.ParseRecipients(lines)
	if err != nil {
		return recipients, fmt.Errorf("--recipient or --recipients-file: %w", err)
	}
	return recipients, nil
}

// maxKeyFile is the largest size of a file with age keys, in bytes.
const maxKeyFile = 1 << 20

// readLines returns the lines and those of the files.
func readLines(lines, files []string) (io.Reader, error) {
	for _, name := range files {
		text, err := readStart(name, maxKeyFile)
		if err != nil {
			return nil, err
		}
		lines = append(lines, string(text))
	}
	return strings.NewReader(strings.Join(lines, "\n")), nil
}

type restoreCommand struct {
	Source string `arg:"" help:"Folder or bucket that tsumugi backup has written."`

	Snapshot string   `placeholder:"NAME" help:"Backup to restore, such as 20261127T013000.000Z. Default: the newest complete one."`
	Identity []string `type:"existingfile" placeholder:"FILE" help:"File with the age key of an encrypted backup. May be repeated."`

	Rehearse bool   `help:"Restore into a temporary database, compare it with the backup, verify all files and write a report."`
	Database string `placeholder:"URL" help:"With --rehearse: empty database to use, which is not dropped afterwards. Default: a new one next to that of DATABASE_URL, or of the server on the data folder."`
	Report   string `type:"path" default:"." placeholder:"DIR" help:"With --rehearse: folder for the report, which is created if necessary."`

	Data             string `env:"TSUMUGI_DATA" default:"./data" type:"path" help:"Data folder, for the embedded database and the uploaded files."`
	databaseSettings `embed:""`
	fileSettings     `embed:""`
	sealing          `embed:""`
}

// Validate is called by kong after parsing.
func (c *restoreCommand) Validate() error { return errors.Join(c.checkFiles(), checkTarget(c.Source)) }

// Run restores a backup, or rehearses that.
func (c *restoreCommand) Run(ctx context.Context, out *output, logs *logOutput) error {
	identities, err := c.identities()
	if err != nil {
		return err
	}
	if dir, ok := locationFolder(c.Source); ok {
		if _, err := os.Stat(dir); err != nil { // Opening it would create it.
			return err
		}
	}
	from, err := openLocation(ctx, c.Source)
	if err != nil {
		return fmt.Errorf("the source: %w", err)
	}
	defer func() { _ = from.Close() }()
	source, err := backup.Open(ctx, from, c.Snapshot, identities)
	if err != nil {
		return err
	}
	if err := source.CheckKeys(c.SecretKey); err != nil {
		return err
	}
	if c.Rehearse {
		if err := prepareReports(c.Report); err != nil { // Before the rehearsal, which may take hours.
			return fmt.Errorf("--report: %w", err)
		}
		return c.rehearse(ctx, source, out, logs)
	}
	return c.restore(ctx, source, out, logs)
}

// prepareReports creates the folder for reports, and checks that a file can be written there.
func prepareReports(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, "restore-rehearsal-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// identities parses the keys of an encrypted backup.
func (c *restoreCommand) identities() (backup.Identities, error) {
	if len(c.Identity) == 0 {
		return nil, nil
	}
	lines, err := readLines(nil, c.Identity)
	if err != nil {
		return nil, err
	}
	identities, err := backup.ParseIdentities(lines)
	if err != nil {
		return nil, fmt.Errorf("--identity: %w", err)
	}
	return identities, nil
}

func (c *restoreCommand) restore(ctx context.Context, source *backup.Source, out io.Writer, logs *logOutput) (err error) {
	db, err := c.open(ctx, c.Data, commandLog(logs))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.close(time.Time{})) }()
	files, err := c.openFiles(ctx, c.Data)
	if err != nil {
		return err
	}
	defer func() { _ = files.Close() }()
	began := time.Now()
	if err := source.Restore(ctx, db.DB, files, newProgress(logs).report); err != nil {
		return err
	}
	if err := db.Migrate(ctx); err != nil {
		return fmt.Errorf("the backup is restored, but its schema is not up to date: %w", err)
	}
	if db.server != nil {
		if err := db.Checkpoint(ctx); err != nil {
			return err
		}
	}
	for _, name := range source.Skipped {
		_, _ = fmt.Fprintf(out, "The table %s is no part of tsumugi's schema and was not restored.\n", name)
	}
	m := source.Manifest
	_, err = fmt.Fprintf(out, "Restored the backup %s: %d tables and %d files, in %v. Start the servers now.\n",
		source.Snapshot, len(m.Tables), m.Files.Count, time.Since(began).Round(time.Millisecond))
	return err
}

func (c *restoreCommand) rehearse(ctx context.Context, source *backup.Source, out io.Writer, logs *logOutput) (err error) {
	db, end, err := c.rehearsalDatabase(ctx, commandLog(logs))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	report, err := source.Rehearse(ctx, db, newProgress(logs).report)
	if err != nil {
		return err
	}
	name := filepath.Join(c.Report, "restore-rehearsal-"+report.Started.Format("20060102T150405Z"))
	text, err := json.MarshalIndent(report, "", "\t")
	if err != nil {
		return err
	}
	for ending, content := range map[string]string{".json": string(text) + "\n", ".md": report.Markdown()} {
		if err := os.WriteFile(name+ending, []byte(content), 0o600); err != nil {
			return err
		}
	}
	if !report.OK {
		return fmt.Errorf("the rehearsal of the backup %s has failed, see %s.md: %s", source.Snapshot, name,
			strings.Join(report.Problems, "; "))
	}
	_, err = fmt.Fprintf(out, "The backup %s can be restored: %d tables and %d files are as the manifest says, in %.1f s. "+
		"The report is %s.md.\n", source.Snapshot, len(report.Tables), report.Files.Verified,
		report.Seconds, name)
	return err
}

// rehearsalDatabase returns the database that was named for the rehearsal, or a temporary one.
func (c *restoreCommand) rehearsalDatabase(ctx context.Context, log *slog.Logger) (
	_ *store.DB, end func() error, _ error,
) {
	settings := c.databaseSettings
	if c.Database != "" {
		settings.DatabaseURL = c.Database
	}
	if settings.DatabaseURL == "" {
		if dsn, err := postgres.Running(databaseDir(c.Data)); err == nil {
			settings.DatabaseURL = dsn
		}
	}
	db, err := settings.open(ctx, c.Data, log)
	if err != nil {
		return nil, nil, err
	}
	stop := func() error { return db.close(time.Time{}) }
	if c.Database != "" {
		return db.DB, stop, nil
	}
	temporary, drop, err := db.OpenTemporary(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, stop())
	}
	return temporary, func() error { return errors.Join(drop(), stop()) }, nil
}

// progressInterval is the shortest time between two lines about the same items.
const progressInterval = time.Second

// progress prints how many items are done.
type progress struct {
	out io.Writer

	mu      sync.Mutex // Guards printed.
	printed time.Time
}

func newProgress(out io.Writer) *progress { return &progress{out: out} }

// report prints a line at most each progressInterval, and one at the end.
func (p *progress) report(items string, done, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); done == total || now.Sub(p.printed) >= progressInterval {
		p.printed = now
		_, _ = fmt.Fprintf(p.out, "%s: %d of %d\n", items, done, total)
	}
}
