package backup

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/bucket"
	"github.com/tsumugi-ai/tsumugi/store"
)

// cleanUpTimeout bounds the removal of an unfinished backup or restore after an error or an interrupt.
const cleanUpTimeout = 30 * time.Second

// copyBuffer is the size of a buffer of rows that are compressed and hashed together, in bytes.
const copyBuffer = 64 << 10

// Progress is called with the number of items that are done. It may be called concurrently.
type Progress func(items string, done, total int)

// Options configure a backup.
type Options struct {
	Version    string // Of this program.
	Recipients Recipients
	Keep       int       // Number of snapshots to keep, including the new one; 0 for all.
	Expect     bool      // If the database was backed up before, a target without snapshots is refused.
	Sequential bool      // Files are copied one at a time. Object stores take long for each of them.
	Pace       io.Writer // Receives the rows and files before they are stored, and may delay them.
	Progress   Progress
}

// Summary describes a finished backup.
type Summary struct {
	Snapshot string
	Manifest Manifest
	Copied   int // Number of files that the target did not contain.
	Removed  int // Number of older snapshots that were removed.
}

// run is a backup in progress.
type run struct {
	Options
	db       *store.Snapshot
	files    *bucket.Bucket
	target   *bucket.Bucket
	snapshot snapshot
}

// Run makes a backup of the database and the files while servers use them. Each installation needs its own target.
// After an error, the target contains no new snapshot, except after an error whose text calls the backup complete. Files
// that were copied until then remain; the next backup copies them again. Run stores the time of the backup in the
// database.
func Run(ctx context.Context, db *store.DB, files, target *bucket.Bucket, options Options) (_ Summary, err error) {
	started := time.Now().UTC()
	view, err := db.OpenSnapshot(ctx)
	if err != nil {
		return Summary{}, err
	}
	defer view.Close(ctx)
	r := &run{options, view, files, target, snapshot{name: started.Format(timeFormat)}}
	older, err := listSnapshots(ctx, target)
	if err != nil {
		return Summary{}, err
	}
	if options.Expect && len(complete(older)) == 0 {
		if last, err := db.LastBackup(ctx); err != nil || !last.IsZero() {
			return Summary{}, cmp.Or(err, fmt.Errorf("the target contains no backup, although one of this database ended at %s: "+
				"check that its disk is mounted; if the target is new, add --new-target", last.UTC().Format(time.RFC3339)))
		}
	}
	if len(older) > 0 && older[len(older)-1].name >= r.snapshot.name {
		return Summary{}, fmt.Errorf("the target contains the snapshot %s, which is newer than this machine's clock",
			older[len(older)-1].name)
	}
	summary := Summary{Snapshot: r.snapshot.name}
	if summary.Manifest, summary.Copied, err = r.copy(ctx, started, complete(older)); err != nil {
		return Summary{}, errors.Join(err, r.cleanUp(ctx, r.snapshot.object("")))
	}
	if err := db.RecordBackup(ctx, summary.Manifest.Finished); err != nil {
		return summary, fmt.Errorf("the backup %s is complete, but its time could not be stored in the database: %w",
			r.snapshot.name, err)
	}
	if options.Keep > 0 {
		if summary.Removed, err = r.prune(ctx, older); err != nil {
			return summary, fmt.Errorf("the backup %s is complete, but older ones could not be removed: %w",
				r.snapshot.name, err)
		}
	}
	return summary, nil
}

// copy copies everything and writes the manifest.
func (r *run) copy(ctx context.Context, started time.Time, older []*snapshot) (m Manifest, copied int, err error) {
	m = Manifest{
		Format: formatVersion, Version: r.Version, Schema: r.db.SchemaVersion, PostgreSQL: r.db.PostgreSQL,
		Started: started, Tables: make([]Table, len(r.db.Tables)),
	}
	for i, name := range r.db.Tables {
		if !namePattern.MatchString(name) {
			return m, 0, fmt.Errorf("table %q is no part of tsumugi's schema: move it to another schema", name)
		}
		if m.Tables[i], err = r.copyTable(ctx, name); err != nil {
			return m, 0, fmt.Errorf("table %s: %w", name, err)
		}
		r.Progress("tables", i+1, len(m.Tables))
	}
	if m.Sequences, err = r.db.Sequences(ctx); err != nil {
		return m, 0, err
	}
	if m.SecretKeys, err = r.db.SecretKeys(ctx); err != nil {
		return m, 0, err
	}
	ids, err := r.db.Files(ctx)
	if err == nil {
		err = r.db.End(ctx)
	}
	if err != nil {
		return m, 0, err
	}
	if m.Files, copied, err = r.copyFiles(ctx, ids, older); err != nil {
		return m, 0, err
	}
	if err := r.db.Check(ctx); err != nil {
		return m, 0, err
	}
	m.Finished = time.Now().UTC()
	text, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return m, 0, err
	}
	_, err = r.write(ctx, r.snapshot.object(manifestName+r.Recipients.suffix()), r.Recipients, bytes.NewReader(text))
	return m, copied, err
}

// write encrypts and stores an object.
func (r *run) write(ctx context.Context, name string, recipients Recipients, content io.Reader) (Object, error) {
	sealed, err := recipients.encrypt(content)
	if err != nil {
		return Object{}, err
	}
	hashed := newHashingReader(sealed)
	err = r.target.WriteObject(ctx, name, hashed)
	return hashed.object(), err
}

// writeFrom encrypts and stores the output of a function.
func (r *run) writeFrom(ctx context.Context, name string, recipients Recipients, output func(io.Writer) error) (
	Object, error,
) {
	content, w := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := output(w)
		_ = w.CloseWithError(err)
		ended <- err
	}()
	object, err := r.write(ctx, name, recipients, content)
	_ = content.Close() // Ends the goroutine after an error.
	if outputErr := <-ended; err == nil {
		err = outputErr
	}
	return object, err
}

func tableName(name string) string { return "tables/" + name + ".gz" }

// copyTable copies a table.
func (r *run) copyTable(ctx context.Context, name string) (Table, error) {
	table, content := Table{Name: name}, sha256.New()
	object, err := r.writeFrom(ctx, r.snapshot.object(tableName(name)+r.Recipients.suffix()), r.Recipients,
		func(w io.Writer) error {
			out := bufio.NewWriterSize(w, copyBuffer) // The compressor writes less than 256 bytes at a time.
			zip, err := gzip.NewWriterLevel(out, gzip.BestSpeed)
			if err != nil {
				return err
			}
			rows := bufio.NewWriterSize(io.MultiWriter(r.Pace, content, zip), copyBuffer)
			if table.Rows, err = r.db.CopyTable(ctx, name, rows); err != nil {
				return err
			}
			return errors.Join(rows.Flush(), zip.Close(), out.Flush())
		})
	table.Object, table.ContentSHA256 = object, Hash(content.Sum(nil))
	return table, err
}

// copyFiles copies the files that the target does not contain, and writes the list of all.
func (r *run) copyFiles(ctx context.Context, ids []uuid.UUID, older []*snapshot) (_ FileList, copied int, _ error) {
	list := FileList{Folder: r.Recipients.filesFolder(), Count: len(ids)}
	known, err := r.knownFiles(ctx, list.Folder, older)
	if err != nil {
		return list, 0, err
	}
	files := make([]File, len(ids))
	var missing []int
	for i, id := range ids {
		if object, ok := known[id]; ok {
			files[i] = File{id, object}
		} else {
			missing = append(missing, i)
		}
	}
	done := counter{items: "files", total: len(missing), progress: r.Progress}
	limit := workers
	if r.Sequential {
		limit = 1
	}
	err = forEach(ctx, len(missing), limit, func(ctx context.Context, n int) error {
		i := missing[n]
		object, err := r.copyFile(ctx, list.Folder, ids[i])
		files[i] = File{ids[i], object}
		done.add()
		return err
	})
	if err != nil {
		return list, 0, err
	}
	for _, f := range files {
		list.Bytes += f.Size
	}
	list.Object, err = r.writeFrom(ctx, r.snapshot.object(listName(list.Folder)), Recipients{},
		func(w io.Writer) error { return encodeFiles(w, files) })
	return list, len(missing), err
}

// copyFile copies a file.
func (r *run) copyFile(ctx context.Context, folder string, id uuid.UUID) (Object, error) {
	content, err := r.openFile(ctx, id)
	if err != nil {
		return Object{}, err
	}
	defer func() { _ = content.Close() }()
	return r.write(ctx, fileName(folder, id), r.Recipients, io.TeeReader(content, r.Pace))
}

// openFile opens one of the servers' files.
func (r *run) openFile(ctx context.Context, id uuid.UUID) (io.ReadCloser, error) {
	content, err := r.files.Open(ctx, id)
	if errors.Is(err, bucket.ErrMissing) {
		err = fmt.Errorf("the file %s is missing in the servers' files, and the database refers to it: put it "+
			"back, or delete its data source or picture (%w)", id, err)
	}
	return content, err
}

// knownFiles returns the files of all snapshots with the same recipients that the target still contains. A file that
// any snapshot refers to must not be written again: encrypted again, it would have another hash.
func (r *run) knownFiles(ctx context.Context, folder string, older []*snapshot) (map[uuid.UUID]Object, error) {
	listed := make(map[uuid.UUID]Object)
	for _, s := range older { // The newest one is the last, and replaces the others.
		if s.folder != folder {
			continue
		}
		files, err := readFiles(ctx, r.target, s)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			listed[f.ID] = f.Object
		}
	}
	known := make(map[uuid.UUID]Object, len(listed))
	for object, err := range r.target.List(ctx, filesFolder(folder)) {
		if err != nil {
			return nil, err
		}
		id, err := uuid.Parse(object.Name[len(filesFolder(folder)):])
		if err != nil { // The temporary file of an interrupted write.
			continue
		}
		if found, ok := listed[id]; ok && found.Size == object.Size {
			known[id] = found
		}
	}
	return known, nil
}

// readFiles reads the list of the files of a snapshot without verifying it.
func readFiles(ctx context.Context, target *bucket.Bucket, s *snapshot) ([]File, error) {
	list, err := target.OpenObject(ctx, s.object(listName(s.folder)))
	if err != nil {
		return nil, err
	}
	defer func() { _ = list.Close() }()
	return decodeFiles(list)
}

// cleanUp removes the objects of an unfinished snapshot or export, whose names begin with prefix.
func (r *run) cleanUp(ctx context.Context, prefix string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
	defer cancel()
	for object, err := range r.target.List(ctx, prefix) {
		if err == nil {
			err = r.target.RemoveObject(ctx, object.Name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// prune removes older snapshots, so that Keep remain, incomplete ones, and files that no remaining snapshot contains.
func (r *run) prune(ctx context.Context, older []*snapshot) (removed int, _ error) {
	kept := complete(older)
	kept = kept[max(0, len(kept)-(r.Keep-1)):]
	for _, s := range older {
		if slices.Contains(kept, s) {
			continue
		}
		if s.manifest != "" { // First, so that the snapshot is not taken for a complete one.
			if err := r.target.RemoveObject(ctx, s.object(s.manifest)); err != nil {
				return removed, err
			}
			removed++
		}
		for _, name := range s.objects {
			if err := r.target.RemoveObject(ctx, name); err != nil {
				return removed, err
			}
		}
	}
	r.snapshot.folder = r.Recipients.filesFolder()
	used := make(map[string]bool)
	for _, s := range append(kept, &r.snapshot) {
		files, err := readFiles(ctx, r.target, s)
		if err != nil {
			return removed, err
		}
		for _, f := range files {
			used[fileName(s.folder, f.ID)] = true
		}
	}
	for object, err := range r.target.List(ctx, "files/") {
		if err == nil && !used[object.Name] {
			err = r.target.RemoveObject(ctx, object.Name)
		}
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}
