package backup

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"filippo.io/age"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/bucket"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/store"
)

// Source is a snapshot to restore.
type Source struct {
	Snapshot string
	Manifest Manifest
	Skipped  []string // Tables that the schema does not have, and that therefore were not restored.

	from       *bucket.Bucket
	suffix     string // Of encrypted objects.
	identities Identities
	files      []File
}

// Identities decrypt a backup.
type Identities []age.Identity

// ParseIdentities parses age identities, one a line. There must be at least one.
func ParseIdentities(r io.Reader) (Identities, error) { return age.ParseIdentities(r) }

// Open opens a snapshot, or the newest complete one if name is empty. The identities are those of an encrypted backup.
func Open(ctx context.Context, from *bucket.Bucket, name string, identities Identities) (*Source, error) {
	all, err := listSnapshots(ctx, from)
	if err != nil {
		return nil, err
	}
	found := complete(all)
	if name != "" {
		found = slices.DeleteFunc(found, func(s *snapshot) bool { return s.name != name })
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there is no complete backup %s; those that were interrupted have no manifest: %d", name,
			len(all)-len(complete(all)))
	}
	chosen := found[len(found)-1]
	s := &Source{Snapshot: chosen.name, from: from}
	if chosen.encrypted() {
		if len(identities) == 0 {
			return nil, fmt.Errorf("the backup %s is encrypted; name the file of its key with --identity", s.Snapshot)
		}
		s.identities, s.suffix = identities, encryptedSuffix
	}
	if err := s.readManifest(ctx, chosen.object(chosen.manifest)); err != nil {
		return nil, fmt.Errorf("the backup %s: %w", s.Snapshot, err)
	}
	if err := s.readFiles(ctx, chosen.object(listName(s.Manifest.Files.Folder))); err != nil {
		return nil, fmt.Errorf("the backup %s: %w", s.Snapshot, err)
	}
	return s, nil
}

func (s *Source) readManifest(ctx context.Context, name string) error {
	stored, err := s.from.OpenObject(ctx, name)
	if err != nil {
		return err
	}
	defer func() { _ = stored.Close() }()
	content := io.Reader(stored)
	if s.suffix != "" {
		if content, err = age.Decrypt(content, s.identities...); err != nil {
			return err
		}
	}
	m, err := decodeManifest(content)
	if err == nil {
		s.Manifest = *m
	}
	return err
}

func (s *Source) readFiles(ctx context.Context, name string) error {
	list, err := openObject(ctx, s.from, name, s.Manifest.Files.Object, nil, false)
	if err != nil {
		return err
	}
	defer func() { _ = list.Close() }()
	if s.files, err = decodeFiles(list); err != nil {
		return errors.Join(list.failure(), err)
	}
	if len(s.files) != s.Manifest.Files.Count {
		return fmt.Errorf("the list of files has %d entries, the manifest says %d", len(s.files), s.Manifest.Files.Count)
	}
	return nil
}

// CheckKeys returns an error if the keyring lacks a key that sealed secrets in the backup need.
func (s *Source) CheckKeys(keys secret.Keyring) error {
	if lacking := keys.Lacks(s.Manifest.SecretKeys); len(lacking) > 0 {
		return fmt.Errorf("TSUMUGI_SECRET_KEY lacks the key with the fingerprint %s, which encrypts secrets in the backup: "+
			"set the key that the servers used when the backup was made", strings.Join(lacking, ", "))
	}
	return nil
}

// Restore restores the snapshot into an empty database and an empty bucket. If it fails, both are empty again.
func (s *Source) Restore(ctx context.Context, db *store.DB, files *bucket.Bucket, progress Progress) (err error) {
	if err := db.CheckEmpty(ctx); err != nil {
		return err
	}
	empty, err := files.Empty(ctx)
	if err != nil {
		return err
	}
	if !empty {
		return errors.New("the folder or bucket of the uploaded files is not empty; restore into a new one")
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.removeFiles(ctx, files))
		}
	}()
	done := counter{items: "files", total: len(s.files), progress: progress}
	err = s.forEachFile(ctx, func(ctx context.Context, id uuid.UUID, content *objectReader) error {
		err := files.Write(ctx, id, content)
		done.add()
		return err
	})
	if err != nil {
		return err
	}
	return db.Restore(ctx, s.Manifest.Schema, func(loader *store.Loader) error {
		return s.load(ctx, loader, nil, progress)
	})
}

// forEachFile calls f for each file, several at a time. f must read the content completely.
func (s *Source) forEachFile(ctx context.Context,
	f func(ctx context.Context, id uuid.UUID, content *objectReader) error,
) error {
	return forEach(ctx, len(s.files), workers, func(ctx context.Context, i int) error {
		file := s.files[i]
		content, err := openObject(ctx, s.from, fileName(s.Manifest.Files.Folder, file.ID), file.Object, s.identities, false)
		if err != nil {
			return err
		}
		defer func() { _ = content.Close() }()
		return f(ctx, file.ID, content)
	})
}

// removeFiles removes the files of a failed restore.
func (s *Source) removeFiles(ctx context.Context, files *bucket.Bucket) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanUpTimeout)
	defer cancel()
	return forEach(ctx, len(s.files), workers, func(ctx context.Context, i int) error {
		return files.Discard(ctx, s.files[i].ID)
	})
}

// load fills the tables. If compare is not nil, it is called with each table as it was read from the database again.
func (s *Source) load(ctx context.Context, loader *store.Loader, compare func(want, got Table), progress Progress) error {
	var names []string
	for _, table := range s.Manifest.Tables {
		names = append(names, table.Name)
	}
	if missing := without(loader.Tables, names); len(missing) > 0 {
		return fmt.Errorf("the backup lacks tables of the schema %d: %v", s.Manifest.Schema, missing)
	}
	s.Skipped = without(names, loader.Tables)
	for i, table := range s.Manifest.Tables {
		if slices.Contains(s.Skipped, table.Name) {
			continue
		}
		if err := s.loadTable(ctx, loader, table); err != nil {
			return fmt.Errorf("table %s: %w", table.Name, err)
		}
		if compare != nil {
			got, content := Table{Name: table.Name, Object: table.Object}, sha256.New()
			var err error
			if got.Rows, err = loader.CopyTable(ctx, table.Name, content); err != nil {
				return err
			}
			got.ContentSHA256 = Hash(content.Sum(nil))
			compare(table, got)
		}
		progress("tables", i+1, len(names))
	}
	for _, sequence := range s.Manifest.Sequences {
		if !slices.Contains(loader.Sequences, sequence.Name) {
			continue
		}
		if err := loader.SetSequence(ctx, sequence); err != nil {
			return fmt.Errorf("sequence %s: %w", sequence.Name, err)
		}
	}
	return nil
}

func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

func (s *Source) loadTable(ctx context.Context, loader *store.Loader, table Table) error {
	name := (&snapshot{name: s.Snapshot}).object(tableName(table.Name) + s.suffix)
	content, err := openObject(ctx, s.from, name, table.Object, s.identities, true)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	rows := newHashingReader(content)
	n, err := loader.LoadTable(ctx, table.Name, rows)
	if failure := content.failure(); failure != nil {
		return failure // The error of PostgreSQL contains only its text.
	}
	if err != nil {
		return err
	}
	if n != table.Rows || rows.object().SHA256 != table.ContentSHA256 {
		return fmt.Errorf("%d rows were read, the manifest says %d, or their contents differ", n, table.Rows)
	}
	return nil
}
