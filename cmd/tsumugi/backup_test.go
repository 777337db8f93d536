package main

import (
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/migrations"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestBackupOfARunningInstallationIsRestored makes a backup into a bucket. While it runs, rows are written and a file is
// deleted. The backup is restored into a database and a folder, whose contents are those at the beginning, and into an
// embedded database for a server.
func TestBackupOfARunningInstallationIsRestored(t *testing.T) {
	t.Parallel()
	i, target := newInstallation(t), newPausingBucket(t)
	pool, want, files := storetest.Pool(t, i.dsn), contents(t, i.dsn), tree(t, filepath.Join(i.data, "files"))
	db := must.Get(store.Open(t.Context(), i.dsn))(t)
	defer db.Close()
	ended := make(chan error)
	go func() {
		_, err := i.try("", "backup", target.url)
		ended <- err
	}()
	<-target.reached
	for _, sql := range []string{
		`INSERT INTO categories (id, name, position) VALUES (gen_random_uuid(), '後から', 1000)`,
		`UPDATE users SET name = '後から'`, `DELETE FROM data_sources`, `DELETE FROM pictures`,
	} {
		if _, err := pool.Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	if orphans, err := db.ListOrphans(t.Context(), uuid.Nil); err != nil || len(orphans) > 0 {
		t.Errorf("files to remove while a backup runs: %v, %v", orphans, err)
	}
	target.resume()
	must.Succeed(t, <-ended)
	if orphans, err := db.ListOrphans(t.Context(), uuid.Nil); err != nil || len(orphans) != 2 {
		t.Errorf("files to remove after the backup: %v, %v", orphans, err)
	}

	dsn, data := emptyDSN(t), t.TempDir()
	if out := i.into(dsn, data).do("restore", target.url); !strings.Contains(out, "2 files") {
		t.Error(out)
	}
	wantSame(t, want, contents(t, dsn))
	if got := tree(t, filepath.Join(data, "files")); !maps.Equal(got, files) || len(got) != 2 {
		t.Errorf("%d files, not %d", len(got), len(files))
	}

	embedded := filepath.Join(t.TempDir(), "data")
	openTempDir(t, embedded)
	i.into("", embedded).do("restore", target.url)
	p := start(t, embedded, "TSUMUGI_SECRET_KEY="+i.key)
	token := p.signIn(t, "user@demo.example")
	var messages struct{ Items []message }
	p.json(t, "GET", "/v1/message?thread_id="+i.thread, token, nil, &messages)
	if len(messages.Items) != 2 || messages.Items[0].Content != question && messages.Items[1].Content != question {
		t.Errorf("%+v", messages.Items)
	}
	for path, text := range map[string]string{"/v1/data-source/file/" + i.file: fileText, "/v1/picture/" + i.picture: ""} {
		req := must.Get(http.NewRequestWithContext(t.Context(), "GET", p.address+path, nil))(t)
		req.Header.Set("Authorization", "Bearer "+token)
		resp := must.Get(http.DefaultClient.Do(req))(t)
		content, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || text != "" && string(content) != text {
			t.Errorf("%s: %d %q, %v", path, resp.StatusCode, content, err)
		}
	}
}

// TestBackupContainsEveryTable compares the manifest with the catalog. A restore skips an operator's own table and names
// it, and a rehearsal reports a problem.
func TestBackupContainsEveryTable(t *testing.T) {
	t.Parallel()
	o, target := on(t), t.TempDir()
	dsn := strings.TrimPrefix(o.environ[0], "DATABASE_URL=")
	exec := func(sql string) {
		t.Helper()
		if _, err := storetest.Pool(t, dsn).Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	exec(`CREATE TABLE operators_own (id bigserial)`)
	o.do("backup", target, "--full-speed")
	other := operating{t, []string{"DATABASE_URL=" + emptyDSN(t), "TSUMUGI_DATA=" + t.TempDir()}}
	if out := other.do("restore", target); !strings.Contains(out, "operators_own") {
		t.Error(out)
	}
	o.refused("operators_own is no part", "restore", target, "--rehearse", "--report", t.TempDir())
	exec(`ALTER TABLE operators_own RENAME TO "../own"`)
	o.refused("own", "backup", target)
	exec(`ALTER TABLE "../own" RENAME TO operators_own`)
	tables := []string{}
	for name := range contents(t, dsn) {
		if table, ok := strings.CutPrefix(name, "table "); ok && table != "schema_version" {
			tables = append(tables, table)
		}
	}
	slices.Sort(tables)
	var manifest struct {
		Tables []struct{ Name string }
		Schema int
	}
	readManifest(t, target, &manifest)
	names := []string{}
	for _, table := range manifest.Tables {
		names = append(names, table.Name)
	}
	if !slices.Equal(names, tables) || len(names) < 50 || manifest.Schema != migrations.Newest() {
		t.Errorf("the backup has %v in schema %d, the database %v", names, manifest.Schema, tables)
	}
}

// manifests returns the manifests in a target, oldest first.
func manifests(t *testing.T, target string) []string {
	t.Helper()
	found := must.Get(filepath.Glob(filepath.Join(target, "snapshots", "*", "manifest.json*")))(t)
	return found
}

func readManifest(t *testing.T, target string, into any) {
	t.Helper()
	text, err := os.ReadFile(manifests(t, target)[0])
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	must.Succeed(t, err)
}

// TestEncryptedBackup makes an encrypted backup, which reveals nothing, and restores it with the key.
func TestEncryptedBackup(t *testing.T) {
	t.Parallel()
	i, target, keys := newInstallation(t), t.TempDir(), t.TempDir()
	files := make(map[string]string)
	var recipients []string
	for _, name := range []string{"first", "second", "stranger"} {
		identity := must.Get(age.GenerateX25519Identity())(t)
		files[name] = filepath.Join(keys, name)
		must.Succeed(t, os.WriteFile(files[name], []byte("# comment\n"+identity.String()+"\n"), 0o600))
		recipients = append(recipients, identity.Recipient().String())
	}
	second := filepath.Join(keys, "recipients")
	must.Succeed(t, os.WriteFile(second, []byte("# second\n"+recipients[1]), 0o600))
	backup := []string{"backup", target, "--recipient", recipients[0], "--recipients-file", second}
	want := contents(t, i.dsn)
	if out := i.do(backup...); !strings.Contains(out, "(2 of them new)") {
		t.Error(out)
	}
	// A file that only the first backup has exists again, as after a restore of that one.
	pool := storetest.Pool(t, i.dsn)
	for _, sql := range []string{
		`CREATE TABLE deleted AS SELECT * FROM pictures; DELETE FROM pictures`,
		`INSERT INTO pictures SELECT * FROM deleted; DROP TABLE deleted`,
	} {
		if _, err := pool.Exec(t.Context(), sql, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatal(err)
		}
		if out := i.do(backup...); !strings.Contains(out, "(0 of them new)") {
			t.Errorf("a later backup: %s", out)
		}
	}
	for name, content := range tree(t, target) {
		if strings.Contains(content, fileText) || strings.Contains(content, "threads") || strings.HasPrefix(content, "\x1f\x8b") {
			t.Errorf("%s is not encrypted", name)
		}
	}
	other := i.into(emptyDSN(t), t.TempDir())
	other.refused("--identity", "restore", target)
	other.refused("identity did not match", "restore", target, "--identity", files["stranger"])
	first := filepath.Base(filepath.Dir(manifests(t, target)[0]))
	other.do("restore", target, "--snapshot", first, "--identity", files["stranger"], "--identity", files["second"])
	wantSame(t, want, contents(t, strings.TrimPrefix(other.environ[0], "DATABASE_URL=")))
	i.refused("--recipient", "backup", target, "--recipient", "age1nonsense")
	// The same target without encryption does not use the encrypted files.
	if out := i.do("backup", target); !strings.Contains(out, "(2 of them new)") {
		t.Errorf("without encryption: %s", out)
	}
}

// TestLaterBackupCopiesOnlyNewFiles makes several backups into one folder and removes the older ones.
func TestLaterBackupCopiesOnlyNewFiles(t *testing.T) {
	t.Parallel()
	i, target := newInstallation(t), t.TempDir()
	i.do("backup", target)
	first := manifests(t, target)[0]
	stored := tree(t, target)
	// A changed size, as after a disk failure, is detected.
	must.Succeed(t, os.WriteFile(filepath.Join(target, "files", "plain", i.picture), []byte("x"), 0o600))
	if out := i.do("backup", target); !strings.Contains(out, "2 files") || !strings.Contains(out, "(1 of them new)") {
		t.Error(out)
	}
	for name, content := range stored {
		if got := tree(t, target)[name]; got != content {
			t.Errorf("%s was changed", name)
		}
	}
	if _, err := storetest.Pool(t, i.dsn).Exec(t.Context(), `DELETE FROM pictures`); err != nil {
		t.Fatal(err)
	}
	if out := i.do("backup", target, "--keep", "2"); !strings.Contains(out, "1 older backups were removed") {
		t.Error(out)
	}
	if all := manifests(t, target); len(all) != 2 || slices.Contains(all, first) {
		t.Errorf("%v remain", all)
	}
	if rest := tree(t, filepath.Dir(first)); len(rest) > 0 {
		t.Errorf("%d files of the removed backup remain", len(rest))
	}
	if files := tree(t, filepath.Join(target, "files")); len(files) != 2 {
		t.Errorf("%d files remain", len(files))
	}
	older := filepath.Base(filepath.Dir(manifests(t, target)[0]))
	i.do("backup", target, "--keep", "1")
	if files := tree(t, filepath.Join(target, "files")); len(files) != 1 {
		t.Errorf("%d files remain", len(files))
	}
	other := i.into(emptyDSN(t), t.TempDir())
	other.refused("no complete backup", "restore", target, "--snapshot", older)
	other.do("restore", "file://"+target, "--snapshot", filepath.Base(filepath.Dir(manifests(t, target)[0])))
	i.refused("--keep", "backup", target, "--keep=-1")
}
