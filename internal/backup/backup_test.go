package backup_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/backup"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/bucket"
	"github.com/tsumugi-ai/tsumugi/migrations"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// openEmpty returns a database without tables, and its connection string.
func openEmpty(t *testing.T) (*store.DB, string) {
	t.Helper()
	dsn := storetest.DSN(t)
	if _, err := storetest.Pool(t, dsn).Exec(t.Context(), `DROP SCHEMA public CASCADE; CREATE SCHEMA public`); err != nil {
		t.Fatal(err)
	}
	db := must.Get(store.Open(t.Context(), dsn))(t)
	t.Cleanup(db.Close)
	return db, dsn
}

func openFolder(t testing.TB, dir string) *bucket.Bucket {
	t.Helper()
	b := must.Get(bucket.Open(dir))(t)
	t.Cleanup(func() { _ = b.Close() })
	return b
}

const snapshotName = "20261127T013000.000Z"

// write writes an object of the snapshot and returns its description.
func write(t testing.TB, target, name string, content []byte) backup.Object {
	t.Helper()
	path := filepath.Join(target, "snapshots", snapshotName, name)
	must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Succeed(t, os.WriteFile(path, content, 0o600))
	return backup.Object{Size: int64(len(content)), SHA256: sha256.Sum256(content)}
}

// writeOlder writes a backup of an older schema, as an earlier version of this program has made it. The database has one
// organization.
func writeOlder(t *testing.T, target string, schema int) {
	t.Helper()
	db, _ := openEmpty(t)
	m := backup.Manifest{Format: 1, Version: "0.0.1", Schema: schema}
	m.Files = backup.FileList{Folder: "plain", Object: write(t, target, "files-plain.jsonl", nil)}
	err := db.Restore(t.Context(), schema, func(l *store.Loader) error {
		row := "00000000-0000-0000-0000-000000000001\t古い組織\tcognito\t{}\t2026-01-01 00:00:00+00\n"
		if _, err := l.LoadTable(t.Context(), "organizations", strings.NewReader(row)); err != nil {
			return err
		}
		for _, name := range l.Tables {
			var rows, zipped bytes.Buffer
			n, err := l.CopyTable(t.Context(), name, &rows)
			if err != nil {
				return err
			}
			zip := gzip.NewWriter(&zipped)
			_, _ = zip.Write(rows.Bytes())
			_ = zip.Close()
			m.Tables = append(m.Tables, backup.Table{
				Name: name, Rows: n, ContentSHA256: sha256.Sum256(rows.Bytes()),
				Object: write(t, target, "tables/"+name+".gz", zipped.Bytes()),
			})
		}
		return nil
	})
	must.Succeed(t, err)
	text := must.Get(json.Marshal(m))(t)
	write(t, target, "manifest.json", text)
}

func ignore(string, int, int) {}

// TestOlderSchemaIsRestoredAndMigrated restores a backup of an early schema. The migrations change its rows.
func TestOlderSchemaIsRestoredAndMigrated(t *testing.T) {
	t.Parallel()
	target := t.TempDir()
	writeOlder(t, target, 4)
	source := must.Get(backup.Open(t.Context(), openFolder(t, target), "", nil))(t)
	db, dsn := openEmpty(t)
	must.Succeed(t, source.Restore(t.Context(), db, openFolder(t, t.TempDir()), ignore))
	if version, err := db.SchemaVersion(t.Context()); err != nil || version != 4 {
		t.Errorf("version %d, %v", version, err)
	}
	must.Succeed(t, db.Migrate(t.Context()))
	var name string
	var contracts int
	if err := storetest.Pool(t, dsn).QueryRow(t.Context(), `
		SELECT o.name, (SELECT count(*) FROM contracts c WHERE c.organization_id = o.id)
		FROM organizations o`).Scan(&name, &contracts); err != nil || name != "古い組織" || contracts != 1 {
		t.Errorf("%s with %d contracts, %v", name, contracts, err)
	}
	other, _ := openEmpty(t)
	report, err := source.Rehearse(t.Context(), other, ignore)
	if err != nil || !report.OK || report.Schema != 4 {
		t.Errorf("%+v, %v", report, err)
	}
}

// FuzzManifest opens backups with any manifest. Open returns an error, or a manifest whose names are safe.
func FuzzManifest(f *testing.F) {
	for _, text := range []string{
		``, `{}`, `[]`, `null`, `{"format": 1, "schema": 1, "files": {"folder": "plain"}}`,
		`{"format": 1, "schema": 1, "files": {"folder": "../plain"}}`,
		`{"format": 1, "schema": 1, "files": {"folder": "plain", "count": 9223372036854775807}}`,
		`{"format": 1, "schema": 1, "files": {"folder": "plain", "count": 1e300}}`,
		`{"format": 1, "schema": 1, "files": {"folder": "plain"}, "tables": [{"name": "/etc/passwd"}]}`,
		`{"format": 1, "schema": 1, "files": {"folder": "plain"}, "tables": [{"name": "a", "rows": -1}]}`,
		`{"format": 1, "schema": 1, "files": {"folder": "plain"}, "tables": [{"name": "a"}, {"name": "a"}]}`,
		`{"format": 1, "schema": 1, "files": {"folder": "plain"}, "sequences": [{"name": "a'; --"}]}`,
		`{"format": 1, "schema": 1, "files": {"folder": "plain", "sha256": "zz"}}`,
		`{"format": -1, "schema": 0, "files": {"folder": "plain"}}`,
	} {
		f.Add(text, "")
	}
	empty, _ := json.Marshal(backup.Hash(sha256.Sum256(nil)))
	f.Add(`{"format": 1, "schema": 1, "files": {"folder": "plain", "sha256": `+string(empty)+`}}`, "")
	list := `{"id":"../../../etc/passwd","size":1,"sha256":""}`
	sum, _ := json.Marshal(backup.Hash(sha256.Sum256([]byte(list))))
	f.Add(`{"format": 1, "schema": 1, "files": {"folder": "plain", "count": 1, "sha256": `+string(sum)+`}}`, list)
	f.Fuzz(func(t *testing.T, manifest, files string) {
		target := t.TempDir()
		write(t, target, "manifest.json", []byte(manifest))
		write(t, target, "files-plain.jsonl", []byte(files))
		source, err := backup.Open(t.Context(), openFolder(t, target), "", nil)
		if err != nil {
			return
		}
		if m := source.Manifest; m.Format != 1 || m.Schema < 1 || m.Schema > migrations.Newest() ||
			m.Files.Folder != "plain" || m.Files.SHA256 != sha256.Sum256([]byte(files)) {
			t.Errorf("accepted %q", manifest)
		}
		for _, table := range source.Manifest.Tables {
			if strings.ContainsAny(table.Name, `/\.'"; `) || table.Rows < 0 {
				t.Errorf("accepted the table %q", table.Name)
			}
		}
	})
}

// TestBackupPassesAllContentsThroughItsPace requires the rows and the file, which the pace can therefore delay.
func TestBackupPassesAllContentsThroughItsPace(t *testing.T) {
	t.Parallel()
	dsn, id := storetest.DSN(t), uuid.New()
	if _, err := storetest.Pool(t, dsn).Exec(t.Context(), `
		WITH o AS (INSERT INTO organizations (id, name) VALUES (gen_random_uuid(), '会社') RETURNING id),
		    u AS (INSERT INTO users (id, organization_id, subject, email, name, role)
		        SELECT gen_random_uuid(), id, gen_random_uuid(), 'user@example.com', '山田', 'general-user' FROM o RETURNING *)
		INSERT INTO data_sources (id, organization_id, user_id, filename, media_type, size, sha256)
		SELECT $1, organization_id, id, '資料.txt', 'text/plain', 1, sha256('') FROM u`, id); err != nil {
		t.Fatal(err)
	}
	db := must.Get(store.Open(t.Context(), dsn))(t)
	t.Cleanup(db.Close)
	files, paced := openFolder(t, t.TempDir()), &strings.Builder{}
	must.Succeed(t, files.Write(t.Context(), id, strings.NewReader("ファイルの内容")))
	must.Get(backup.Run(t.Context(), db, files, openFolder(t, t.TempDir()),
		backup.Options{Sequential: true, Pace: paced, Progress: ignore}))(t)
	for _, want := range []string{"会社", "user@example.com", "資料.txt", "ファイルの内容"} {
		if !strings.Contains(paced.String(), want) {
			t.Errorf("%s was not paced", want)
		}
	}
}
