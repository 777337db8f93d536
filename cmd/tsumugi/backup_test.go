package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"io/fs"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"filippo.io/age"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf/pdftest"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/migrations"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
)

// emptyDSN returns the connection string of a new database without tables.
func emptyDSN(t *testing.T) string {
	t.Helper()
	dsn := storetest.DSN(t)
	if _, err := storetest.Pool(t, dsn).Exec(t.Context(), `DROP SCHEMA public CASCADE; CREATE SCHEMA public`); err != nil {
		t.Fatal(err)
	}
	return dsn
}

// contents returns the rows of each table in the order of the table's file, the state of each sequence, and the
// definitions of the schema, by their names.
func contents(t *testing.T, dsn string) map[string]string {
	t.Helper()
	pool := storetest.Pool(t, dsn)
	all := make(map[string]string)
	read := func(sql string) {
		t.Helper()
		rows, err := pool.Query(t.Context(), sql)
		if err != nil {
			t.Fatal(err)
		}
		var name, text string
		if _, err := pgx.ForEachRow(rows, []any{&name, &text}, func() error {
			all[name] += text + "\n"
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	read(`SELECT 'constraint ' || conname, pg_get_constraintdef(oid) FROM pg_constraint
		WHERE connamespace = 'public'::regnamespace ORDER BY 1, 2`)
	read(`SELECT 'trigger ' || tgname, tgenabled::text || pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1, 2`)
	read(`SELECT 'index ' || indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'`)
	read(`SELECT 'sequence ' || sequencename, coalesce(last_value::text, '') FROM pg_sequences WHERE schemaname = 'public'`)
	rows, err := pool.Query(t.Context(), `SELECT table_name FROM information_schema.tables
		WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range tables {
		all["table "+table] = ""
		read(`SELECT 'table ` + table + `', x::text FROM ` + table + ` x`)
	}
	return all
}

// wantSame compares two results of contents.
func wantSame(t *testing.T, want, got map[string]string) {
	t.Helper()
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if got[name] != want[name] {
			t.Errorf("%s: got %.300q, want %.300q", name, got[name], want[name])
		}
	}
	if len(got) != len(want) || len(want) < 100 {
		t.Errorf("%d of %d", len(got), len(want))
	}
}

// tree returns the contents of the files in a folder.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(content)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return files
}

// send uploads a file and returns its id.
func (p *process) send(t *testing.T, path, token, filename string, content []byte) string {
	t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, _ := form.CreateFormFile("file", filename)
	_, _ = part.Write(content)
	_ = form.Close()
	req, err := http.NewRequestWithContext(t.Context(), "POST", p.address+path, &body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Authorization", "Bearer "+token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var created struct{ ID string }
	if err := json.NewDecoder(resp.Body).Decode(&created); err != nil || created.ID == "" {
		t.Fatalf("%d, %v", resp.StatusCode, err)
	}
	return created.ID
}

// installation is an installation whose server has stopped.
type installation struct {
	operating
	dsn, data, key        string
	thread, file, picture string
}

const (
	fileText = "議事録: 予算は百万円です。"
	question = "予算はいくらですか"
)

// newInstallation returns an installation with a thread, a file, a picture and sealed keys.
func newInstallation(t *testing.T) *installation {
	t.Helper()
	i := &installation{dsn: storetest.DSN(t), data: t.TempDir(), key: secret.NewKey()}
	i.operating = operating{t, []string{"DATABASE_URL=" + i.dsn, "TSUMUGI_DATA=" + i.data, "TSUMUGI_SECRET_KEY=" + i.key}}
	p := start(t, i.data, i.environ...)
	token := p.signIn(t, "user@demo.example")
	i.thread = p.thread(t, token)
	if status := p.json(t, "POST", "/v1/message/sync", token,
		map[string]any{"request_id": uuid.NewString(), "thread_id": i.thread, "content": question}, nil); status != 200 {
		t.Fatalf("got %d", status)
	}
	i.file = p.send(t, "/v1/data-source/file", token, "議事録.txt", []byte(fileText))
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))); err != nil {
		t.Fatal(err)
	}
	i.picture = p.send(t, "/v1/picture", token, "図.png", picture.Bytes())
	if err := p.end(t, os.Interrupt); err != nil {
		t.Fatal(err)
	}
	return i
}

// into returns operating for another database and data folder, with the same key.
func (i *installation) into(dsn, data string) operating {
	return operating{i.t, []string{"DATABASE_URL=" + dsn, "TSUMUGI_DATA=" + data, "TSUMUGI_SECRET_KEY=" + i.key}}
}

// pausingBucket is an S3 server that stops at the first table.
type pausingBucket struct {
	url     string
	reached chan struct{} // Closed at the first table.
	resume  func()
	objects func() []string
}

func newPausingBucket(t *testing.T) *pausingBucket {
	t.Helper()
	objects := s3mem.New()
	if err := objects.CreateBucket("backups"); err != nil {
		t.Fatal(err)
	}
	b := &pausingBucket{reached: make(chan struct{})}
	resumed := make(chan struct{})
	b.resume = sync.OnceFunc(func() { close(resumed) })
	first, handler := sync.OnceFunc(func() { close(b.reached) }), gofakes3.New(objects).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/tables/") {
			first()
			<-resumed
		}
		handler.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(b.resume)
	b.url = "s3://backups?region=ap-northeast-1&use_path_style=true&endpoint=" + server.URL
	b.objects = func() (names []string) {
		list, err := objects.ListBucket("backups", nil, gofakes3.ListBucketPage{})
		if err != nil {
			t.Fatal(err)
		}
		for _, object := range list.Contents {
			names = append(names, object.Key)
		}
		return names
	}
	return b
}

// TestBackupOfARunningInstallationIsRestored makes a backup into a bucket. While it runs, rows are written and a file is
// deleted. The backup is restored into a database and a folder, whose contents are those at the beginning, and into an
// embedded database for a server.
func TestBackupOfARunningInstallationIsRestored(t *testing.T) {
	t.Parallel()
	i, target := newInstallation(t), newPausingBucket(t)
	pool, want, files := storetest.Pool(t, i.dsn), contents(t, i.dsn), tree(t, filepath.Join(i.data, "files"))
	db, err := store.Open(t.Context(), i.dsn)
	if err != nil {
		t.Fatal(err)
	}
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
	if orphans, err := db.ListOrphans(t.Context()); err != nil || len(orphans) > 0 {
		t.Errorf("files to remove while a backup runs: %v, %v", orphans, err)
	}
	target.resume()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if orphans, err := db.ListOrphans(t.Context()); err != nil || len(orphans) != 2 {
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
	i.into("", embedded).do("restore", target.url)
	p := start(t, embedded, "TSUMUGI_SECRET_KEY="+i.key)
	token := p.signIn(t, "user@demo.example")
	var messages struct{ Items []message }
	p.json(t, "GET", "/v1/message?thread_id="+i.thread, token, nil, &messages)
	if len(messages.Items) != 2 || messages.Items[0].Content != question && messages.Items[1].Content != question {
		t.Errorf("%+v", messages.Items)
	}
	for path, text := range map[string]string{"/v1/data-source/file/" + i.file: fileText, "/v1/picture/" + i.picture: ""} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", p.address+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
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
	o.do("backup", target)
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
	found, err := filepath.Glob(filepath.Join(target, "snapshots", "*", "manifest.json*"))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func readManifest(t *testing.T, target string, into any) {
	t.Helper()
	text, err := os.ReadFile(manifests(t, target)[0])
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// TestEncryptedBackup makes an encrypted backup, which reveals nothing, and restores it with the key.
func TestEncryptedBackup(t *testing.T) {
	t.Parallel()
	i, target, keys := newInstallation(t), t.TempDir(), t.TempDir()
	files := make(map[string]string)
	var recipients []string
	for _, name := range []string{"first", "second", "stranger"} {
		identity, err := age.GenerateX25519Identity()
		if err != nil {
			t.Fatal(err)
		}
		files[name] = filepath.Join(keys, name)
		if err := os.WriteFile(files[name], []byte("# comment\n"+identity.String()+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		recipients = append(recipients, identity.Recipient().String())
	}
	second := filepath.Join(keys, "recipients")
	if err := os.WriteFile(second, []byte("# second\n"+recipients[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	backup := []string{"backup", target, "--recipient", recipients[0], "--recipients-file", second}
	if out := i.do(backup...); !strings.Contains(out, "(2 of them new)") {
		t.Error(out)
	}
	want := contents(t, i.dsn)
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
	if err := os.WriteFile(filepath.Join(target, "files", "plain", i.picture), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
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

// TestRestoreRefusals: each refused restore changes nothing.
func TestRestoreRefusals(t *testing.T) {
	t.Parallel()
	i, target := newInstallation(t), t.TempDir()
	i.do("backup", target)
	good := tree(t, target)
	manifest := strings.TrimPrefix(manifests(t, target)[0], target+"/")
	tables := filepath.Join(filepath.Dir(manifest), "tables")
	dsn, data := emptyDSN(t), t.TempDir()
	other := i.into(dsn, data)
	replace := func(pattern, by string) func(string) string {
		return func(content string) string {
			changed := regexp.MustCompile(pattern).ReplaceAllString(content, by)
			if changed == content {
				t.Errorf("%s does not match", pattern)
			}
			return changed
		}
	}
	flip := func(content string) string {
		changed := []byte(content)
		changed[len(changed)/2] ^= 1
		return string(changed)
	}
	for name, damage := range map[string]struct {
		file   string
		change func(string) string
		says   string
	}{
		"a newer schema":    {manifest, replace(`"schema": \d+`, `"schema": 9999`), "newer version"},
		"a newer format":    {manifest, replace(`"format": 1`, `"format": 2, "new": {}`), "newer version"},
		"another path":      {manifest, replace(`"name": "users"`, `"name": "../../../etc/passwd"`), "invalid table"},
		"a lacking table":   {manifest, replace(`"name": "users"`, `"name": "user"`), "lacks tables of the schema"},
		"another row count": {manifest, replace(`("name": "users",\s+"rows": )\d+`, `${1}1000000000000000`), "users"},
		"no manifest":       {manifest, nil, "no complete backup"},
		"a damaged table":   {filepath.Join(tables, "users.gz"), flip, "users.gz: its size or SHA-256"},
		"a short table":     {filepath.Join(tables, "users.gz"), func(s string) string { return s[:len(s)-20] }, "SHA-256"},
		"a missing table":   {filepath.Join(tables, "users.gz"), nil, "does not exist"},
		"a damaged file":    {"files/plain/" + i.file, flip, i.file + ": its size or SHA-256"},
		"a missing file":    {"files/plain/" + i.picture, nil, i.picture},
		"a shorter list": {
			filepath.Join(filepath.Dir(manifest), "files-plain.jsonl"),
			func(s string) string { return s[:strings.Index(s, "\n")+1] }, "SHA-256",
		},
	} {
		path := filepath.Join(target, damage.file)
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
		if damage.change != nil {
			if err := os.WriteFile(path, []byte(damage.change(good[damage.file])), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if out, err := other.try("", "restore", target); err == nil || !strings.Contains(err.Error(), damage.says) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		if err := os.WriteFile(path, []byte(good[damage.file]), 0o600); err != nil {
			t.Fatal(err)
		}
		if files := tree(t, filepath.Join(data, "files")); len(files) > 0 {
			t.Errorf("%s: %d files were left", name, len(files))
		}
		if left := contents(t, dsn); len(left) > 0 {
			t.Errorf("%s: the database has %d tables and other objects", name, len(left))
		}
	}
	strange := operating{t, []string{"DATABASE_URL=" + dsn, "TSUMUGI_DATA=" + data, "TSUMUGI_SECRET_KEY=" + secret.NewKey()}}
	var keys secret.Keyring
	if err := keys.UnmarshalText([]byte(i.key)); err != nil {
		t.Fatal(err)
	}
	strange.refused("TSUMUGI_SECRET_KEY lacks the key with the fingerprint "+keys.String(), "restore", target)
	strange.refused("no such file", "restore", "file://"+filepath.Join(target, "nothing"))
	strange.refused("the location of the backup", "restore", "ftp://backups")
	i.refused("the database is not empty", "restore", target)
	i.into(dsn, i.data).refused("is not empty", "restore", target)
	if left := contents(t, dsn); len(left) > 0 {
		t.Errorf("the database has %d tables and other objects", len(left))
	}
	if err := os.Remove(filepath.Join(i.data, "files", "data-source", i.file)); err != nil {
		t.Fatal(err)
	}
	failed := t.TempDir()
	i.refused(i.file+" is missing", "backup", failed)
	if left := tree(t, filepath.Join(failed, "snapshots")); len(left) > 0 {
		t.Errorf("a failed backup left %v", slices.Collect(maps.Keys(left)))
	}
	other.do("restore", target)
}

// TestEndedBackup kills one backup and interrupts another: neither leaves a manifest or a lock. While a backup runs, a
// second one is refused.
func TestEndedBackup(t *testing.T) {
	t.Parallel()
	i := operating{t, []string{"DATABASE_URL=" + storetest.DSN(t), "TSUMUGI_DATA=" + t.TempDir()}}
	killed := newPausingBucket(t)
	//nolint:gosec // Itself.
	cmd := exec.CommandContext(t.Context(), os.Args[0], "backup", killed.url)
	cmd.Env = append(append(os.Environ(), child+"=1", pdftest.CacheVariable+"="+pdftest.Cache(t)), i.environ...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-killed.reached
	i.refused("another backup of this database is running", "backup", t.TempDir())
	if err := cmd.Process.Signal(syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()

	interrupted := newPausingBucket(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- run(ctx, []string{"backup", interrupted.url}, i.environ, io.Discard, io.Discard) }()
	<-interrupted.reached
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, b := range []*pausingBucket{killed, interrupted} {
		b.resume()
		for _, name := range b.objects() {
			if strings.Contains(name, "manifest") {
				t.Errorf("%s is left", name)
			}
		}
	}
	if left := interrupted.objects(); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
	i.do("backup", killed.url)
	i.do("backup", t.TempDir())
}

// TestRehearsal writes a report of a good backup and one of a damaged backup, and leaves no database.
func TestRehearsal(t *testing.T) {
	t.Parallel()
	i, target, reports := newInstallation(t), t.TempDir(), t.TempDir()
	i.do("backup", target)
	databases := func() (n int) {
		t.Helper()
		if err := storetest.Pool(t, i.dsn).QueryRow(t.Context(),
			`SELECT count(*) FROM pg_database WHERE datname LIKE 'tsumugi_rehearsal_%'`).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	rehearse := []string{"restore", target, "--rehearse", "--report", reports}
	i.do(rehearse...)
	named := emptyDSN(t)
	i.do(append(rehearse, "--database", named)...)
	if len(contents(t, named)) == 0 {
		t.Error("the named database is empty")
	}
	type report struct {
		OK       bool
		Problems []string
		Tables   []struct {
			Name     string
			Rows     int
			Restored int `json:"restored_rows"`
			OK       bool
		}
		Files struct{ Count, Verified int }
	}
	check := func(want report, says string) {
		t.Helper()
		found, err := filepath.Glob(filepath.Join(reports, "*.json"))
		if err != nil || len(found) == 0 {
			t.Fatal(found, err)
		}
		var got report
		text, _ := os.ReadFile(found[len(found)-1])
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if got.OK != want.OK || got.Files != want.Files || fmt.Sprint(got.Problems) != fmt.Sprint(want.Problems) {
			t.Errorf("%s", text)
		}
		for _, table := range got.Tables {
			if !table.OK || table.Rows != table.Restored {
				t.Errorf("%+v", table)
			}
		}
		prose, err := os.ReadFile(strings.TrimSuffix(found[len(found)-1], ".json") + ".md")
		if err != nil || !strings.Contains(string(prose), says) {
			t.Errorf("%s, %v", prose, err)
		}
		for _, name := range found {
			_ = os.Remove(name)
		}
	}
	check(report{OK: true, Files: struct{ Count, Verified int }{2, 2}}, "| users | 2 | 2 |")

	file := filepath.Join(target, "files", "plain", i.file)
	if err := os.WriteFile(file, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	i.refused("has failed", rehearse...)
	damaged := "files/plain/" + i.file + ": its size or SHA-256 is not that of the manifest"
	check(report{Problems: []string{damaged}, Files: struct{ Count, Verified int }{2, 1}}, "- "+damaged)
	if n := databases(); n > 0 {
		t.Errorf("%d temporary databases are left", n)
	}
}

// TestOwnerOfTheDatabaseSuffices makes, restores and rehearses a backup as a role that only owns the schema.
func TestOwnerOfTheDatabaseSuffices(t *testing.T) {
	t.Parallel()
	pool := storetest.Pool(t, storetest.DSN(t))
	role := "owner_" + strings.ToLower(rand.Text()[:12])
	exec := func(pool *pgxpool.Pool, sql string) {
		t.Helper()
		if _, err := pool.Exec(context.WithoutCancel(t.Context()), sql); err != nil {
			t.Error(err)
		}
	}
	exec(pool, `CREATE ROLE `+role)
	t.Cleanup(func() { exec(pool, `DROP ROLE `+role) }) // After the databases with its tables.
	dsn := emptyDSN(t)
	exec(storetest.Pool(t, dsn), `ALTER SCHEMA public OWNER TO `+role)
	as := operating{t, []string{"DATABASE_URL=" + dsn + "&options=-c%20role%3D" + role, "TSUMUGI_DATA=" + t.TempDir()}}
	o, target := on(t), t.TempDir()
	o.do("backup", target)
	as.do("restore", target)
	as.do("backup", target)
	rehearse := []string{"restore", target, "--rehearse", "--report", t.TempDir()}
	as.refused("creating a temporary database", rehearse...)
	exec(pool, `ALTER ROLE `+role+` CREATEDB`)
	as.do(rehearse...)
}

// TestAnswerInProgressIsContinuedAfterARestore makes a backup during an answer, whose server is then killed. The server
// of the restored data generates the answer again.
func TestAnswerInProgressIsContinuedAfterARestore(t *testing.T) {
	t.Parallel()
	provider := llmtest.NewProvider(t)
	reached := make(chan struct{})
	provider.Add(llmtest.Bytes([]byte("半分まで")), llmtest.Reached(reached), llmtest.Stall())
	provider.Add(llmtest.Answer("二度目の", "回答")...)
	o, target := on(t), t.TempDir()
	environ := slices.Concat(o.environ, []string{"OPENAI_BASE_URL=" + provider.URL()})
	p := start(t, strings.TrimPrefix(o.environ[1], "TSUMUGI_DATA="), environ...)
	token := p.signIn(t, "user@demo.example")
	var exchange struct{ Answer message }
	if status := p.json(t, "POST", "/v1/message/async", token, map[string]any{
		"request_id": uuid.NewString(), "thread_id": p.thread(t, token), "content": "最後まで答えて",
	}, &exchange); status != http.StatusAccepted {
		t.Fatalf("got %d", status)
	}
	<-reached
	o.do("backup", target)
	_ = p.end(t, syscall.SIGKILL)

	dsn, data := "DATABASE_URL="+emptyDSN(t), t.TempDir()
	operating{t, []string{dsn, "TSUMUGI_DATA=" + data}}.do("restore", target)
	restored := start(t, data, dsn, "OPENAI_BASE_URL="+provider.URL())
	req, err := http.NewRequestWithContext(t.Context(), "GET",
		restored.address+"/v1/message/"+exchange.Answer.ID+"/stream", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+restored.signIn(t, "user@demo.example"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	stream, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(stream), "二度目の") || !strings.Contains(string(stream), "data: [DONE]") {
		t.Errorf("%v:\n%s", err, stream)
	}
}
