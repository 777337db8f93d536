// Package backup copies the database and the files of an installation into a folder or a bucket, and restores them. It
// also exports the data of an organization.
//
// A target contains any number of snapshots, which share the files, because a stored file never changes:
//
//	snapshots/20261127T013000.000Z/manifest.json      written last: without it, the snapshot is incomplete
//	snapshots/20261127T013000.000Z/files-plain.jsonl  the files of the snapshot, in files/plain
//	snapshots/20261127T013000.000Z/tables/users.gz    rows in the text format of PostgreSQL's COPY, compressed
//	files/plain/<id>                                  a file
//
// In an encrypted snapshot, the names of the manifest and the tables end with .age, and "plain" is replaced by a name
// that depends on the recipients, who alone can decrypt these files. The list of the files is not encrypted:
// it contains ids, and sizes and hashes of the encrypted files. The next backup reads it to find the files that it need
// not copy, and cannot decrypt anything.
//
// Export writes the data of one organization for its readers, in open formats. See export/README.en.md.
//
// The package imports store, which reads and writes the database, and bucket.
package backup

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"time"

	"filippo.io/age"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/bucket"
	"github.com/tsumugi-ai/tsumugi/migrations"
	"github.com/tsumugi-ai/tsumugi/store"
)

// formatVersion grows when older programs cannot restore new backups.
const formatVersion = 1

// maxManifest is the largest size of a manifest in bytes. It contains the tables, but not the files.
const maxManifest = 16 << 20

// Manifest describes a snapshot.
type Manifest struct {
	Format     int              `json:"format"`
	Version    string           `json:"version"` // Of the program that made the backup.
	Schema     int              `json:"schema"`
	PostgreSQL string           `json:"postgresql"`
	Started    time.Time        `json:"started"`
	Finished   time.Time        `json:"finished"`
	SecretKeys []string         `json:"secret_keys"` // Ids of the keys that sealed secrets need.
	Tables     []Table          `json:"tables"`
	Sequences  []store.Sequence `json:"sequences"`
	Files      FileList         `json:"files"`
}

// Table describes a table. Object is its stored form, and ContentSHA256 the hash of its rows in the text format.
type Table struct {
	Name          string `json:"name"`
	Rows          int64  `json:"rows"`
	ContentSHA256 Hash   `json:"content_sha256"`
	Object
}

// FileList describes the files. Object is the list of the files.
type FileList struct {
	Folder string `json:"folder"` // Below files/.
	Count  int    `json:"count"`
	Bytes  int64  `json:"bytes"`
	Object
}

// File describes a file.
type File struct {
	ID uuid.UUID `json:"id"`
	Object
}

// Object is the size and the hash of a stored object.
type Object struct {
	Size   int64 `json:"size"`
	SHA256 Hash  `json:"sha256"`
}

// Hash is a SHA-256.
type Hash [sha256.Size]byte

func (h Hash) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, h[:]), nil }

func (h *Hash) UnmarshalText(text []byte) error {
	if hex.DecodedLen(len(text)) != len(h) {
		return errors.New("a hash must have 64 hexadecimal digits")
	}
	_, err := hex.Decode(h[:], text)
	return err
}

const (
	snapshotsPrefix = "snapshots/"
	timeFormat      = "20060102T150405.000Z" // Sorts by time.
	manifestName    = "manifest.json"
	encryptedSuffix = ".age"
	plainFolder     = "plain"
)

var (
	snapshotPattern = regexp.MustCompile(`^\d{8}T\d{6}\.\d{3}Z$`)
	namePattern     = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)
	folderPattern   = regexp.MustCompile(`^(plain|age-[0-9a-f]{16})$`)
)

func listName(folder string) string { return "files-" + folder + ".jsonl" }

func fileName(folder string, id uuid.UUID) string { return filesFolder(folder) + id.String() }

func filesFolder(folder string) string { return "files/" + folder + "/" }

// validate returns an error for a manifest that this program cannot restore.
func (m *Manifest) validate() error {
	if m.Format > formatVersion || m.Schema > migrations.Newest() {
		return fmt.Errorf("the backup was made by a newer version of tsumugi (%s; format %d, schema %d); restore it with "+
			"that version", m.Version, m.Format, m.Schema)
	}
	if m.Format < 1 || m.Schema < 1 {
		return fmt.Errorf("the manifest has the format %d and the schema %d", m.Format, m.Schema)
	}
	names := make(map[string]bool)
	for _, table := range m.Tables {
		if !namePattern.MatchString(table.Name) || names[table.Name] || table.Rows < 0 || table.Size < 0 {
			return fmt.Errorf("the manifest has an invalid table %q", table.Name)
		}
		names[table.Name] = true
	}
	for _, sequence := range m.Sequences {
		if !namePattern.MatchString(sequence.Name) {
			return fmt.Errorf("the manifest has an invalid sequence %q", sequence.Name)
		}
	}
	if !folderPattern.MatchString(m.Files.Folder) || m.Files.Count < 0 || m.Files.Size < 0 {
		return fmt.Errorf("the manifest has an invalid list of files in %q", m.Files.Folder)
	}
	return nil
}

// decodeManifest decodes and validates a manifest.
func decodeManifest(r io.Reader) (*Manifest, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxManifest+1))
	if err != nil {
		return nil, err
	}
	if len(text) > maxManifest {
		return nil, fmt.Errorf("the manifest is larger than %d bytes", maxManifest)
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil { // Unknown fields belong to a newer format, which validate reports.
		return nil, fmt.Errorf("the manifest: %w", err)
	}
	return &m, m.validate()
}

// encodeFiles writes the list of files.
func encodeFiles(w io.Writer, files []File) error {
	out := bufio.NewWriter(w)
	encoder := json.NewEncoder(out)
	for _, f := range files {
		if err := encoder.Encode(f); err != nil {
			return err
		}
	}
	return out.Flush()
}

// decodeFiles reads a list of files.
func decodeFiles(r io.Reader) (files []File, _ error) {
	lines := bufio.NewScanner(r) // It limits the length of a line.
	for lines.Scan() {
		var f File
		decoder := json.NewDecoder(bytes.NewReader(lines.Bytes()))
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&f)
		if err == nil && f.Size < 0 {
			err = errors.New("a negative size")
		}
		if err != nil {
			return nil, fmt.Errorf("line %d of the list of files: %w", len(files)+1, err)
		}
		files = append(files, f)
	}
	return files, lines.Err()
}

// snapshot is one that a listing of the target has found.
type snapshot struct {
	name     string
	manifest string // Name of the manifest's object, "" if the snapshot is incomplete.
	folder   string // Of its files, "" if the snapshot has no list of files.
	objects  []string
}

func (s *snapshot) encrypted() bool { return strings.HasSuffix(s.manifest, encryptedSuffix) }

// object returns the full name of an object of the snapshot.
func (s *snapshot) object(name string) string { return snapshotsPrefix + s.name + "/" + name }

// listSnapshots returns all snapshots, oldest first.
func listSnapshots(ctx context.Context, target *bucket.Bucket) ([]*snapshot, error) {
	var all []*snapshot
	for object, err := range target.List(ctx, snapshotsPrefix) {
		if err != nil {
			return nil, err
		}
		name, rest, _ := strings.Cut(strings.TrimPrefix(object.Name, snapshotsPrefix), "/")
		if !snapshotPattern.MatchString(name) {
			continue
		}
		if len(all) == 0 || all[len(all)-1].name != name {
			all = append(all, &snapshot{name: name})
		}
		s := all[len(all)-1]
		s.objects = append(s.objects, object.Name)
		if rest == manifestName || rest == manifestName+encryptedSuffix {
			s.manifest = rest
		}
		if folder, ok := strings.CutPrefix(rest, "files-"); ok {
			s.folder = strings.TrimSuffix(folder, ".jsonl")
		}
	}
	return all, nil
}

// complete returns the snapshots with a manifest.
func complete(all []*snapshot) []*snapshot {
	return slices.DeleteFunc(slices.Clone(all), func(s *snapshot) bool { return s.manifest == "" })
}

// Recipients encrypt a backup. The zero value does not.
type Recipients struct {
	list   []age.Recipient
	folder string
}

// ParseRecipients parses age recipients, one a line. There must be at least one.
func ParseRecipients(r io.Reader) (Recipients, error) {
	list, err := age.ParseRecipients(r)
	if err != nil {
		return Recipients{}, err
	}
	texts := make([]string, len(list))
	for i, recipient := range list {
		texts[i] = fmt.Sprint(recipient)
	}
	slices.Sort(texts)
	sum := sha256.Sum256([]byte(strings.Join(slices.Compact(texts), "\n")))
	return Recipients{list, "age-" + hex.EncodeToString(sum[:8])}, nil
}

// suffix returns the ending of the names of encrypted objects.
func (r Recipients) suffix() string {
	if len(r.list) == 0 {
		return ""
	}
	return encryptedSuffix
}

// filesFolder returns the name of the folder of the files that these recipients can decrypt.
func (r Recipients) filesFolder() string {
	if len(r.list) == 0 {
		return plainFolder
	}
	return r.folder
}

// encrypt returns a reader of the encrypted content.
func (r Recipients) encrypt(content io.Reader) (io.Reader, error) {
	if len(r.list) == 0 {
		return content, nil
	}
	return age.EncryptReader(content, r.list...)
}
