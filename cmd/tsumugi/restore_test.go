package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf/pdftest"
	"github.com/tsumugi-ai/tsumugi/internal/doctor"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

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
		must.Succeed(t, os.Remove(path))
		if damage.change != nil {
			must.Succeed(t, os.WriteFile(path, []byte(damage.change(good[damage.file])), 0o600))
		}
		if out, err := other.try("", "restore", target); err == nil || !strings.Contains(err.Error(), damage.says) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
		must.Succeed(t, os.WriteFile(path, []byte(good[damage.file]), 0o600))
		if files := tree(t, filepath.Join(data, "files")); len(files) > 0 {
			t.Errorf("%s: %d files were left", name, len(files))
		}
		if left := contents(t, dsn); len(left) > 0 {
			t.Errorf("%s: the database has %d tables and other objects", name, len(left))
		}
	}
	strange := operating{t, []string{"DATABASE_URL=" + dsn, "TSUMUGI_DATA=" + data, "TSUMUGI_SECRET_KEY=" + secret.NewKey()}}
	var keys secret.Keyring
	must.Succeed(t, keys.UnmarshalText([]byte(i.key)))
	strange.refused("TSUMUGI_SECRET_KEY lacks the key with the fingerprint "+keys.String(), "restore", target)
	strange.refused("no such file", "restore", "file://"+filepath.Join(target, "nothing"))
	strange.refused("the location of the backup", "restore", "ftp://backups")
	i.refused("the database is not empty", "restore", target)
	i.into(dsn, i.data).refused("is not empty", "restore", target)
	if left := contents(t, dsn); len(left) > 0 {
		t.Errorf("the database has %d tables and other objects", len(left))
	}
	must.Succeed(t, os.Remove(filepath.Join(i.data, "files", "data-source", i.file)))
	failed := t.TempDir()
	i.refused(i.file+" is missing", "backup", failed, "--new-target")
	if left := tree(t, filepath.Join(failed, "snapshots")); len(left) > 0 {
		t.Errorf("a failed backup left %v", slices.Collect(maps.Keys(left)))
	}
	other.do("restore", target)
}

// TestEndedBackup kills one backup and interrupts another: neither leaves a manifest or a lock. While a backup runs, a
// second one is refused, and after it, one into an empty folder, whose disk may not be mounted.
func TestEndedBackup(t *testing.T) {
	t.Parallel()
	i := operating{t, []string{"DATABASE_URL=" + storetest.DSN(t), "TSUMUGI_DATA=" + t.TempDir()}}
	killed := newPausingBucket(t)
	//nolint:gosec // Itself.
	cmd := exec.CommandContext(t.Context(), os.Args[0], "backup", killed.url)
	cmd.Env = append(append(os.Environ(), child+"=1", pdftest.CacheVariable+"="+pdftest.Cache(t)), i.environ...)
	must.Succeed(t, cmd.Start())
	<-killed.reached
	i.refused("another backup or export of this database is running", "backup", t.TempDir())
	must.Succeed(t, cmd.Process.Signal(syscall.SIGKILL))
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
	unmounted := t.TempDir()
	i.refused("its disk is mounted", "backup", unmounted)
	if left := tree(t, unmounted); len(left) > 0 {
		t.Errorf("a refused backup left %v", slices.Collect(maps.Keys(left)))
	}
	i.do("backup", unmounted, "--new-target")
	i.do("backup", unmounted)
}

// TestRehearsal writes a report of a good backup and one of a damaged backup, and leaves no database.
func TestRehearsal(t *testing.T) {
	t.Parallel()
	i, target, reports := newInstallation(t), t.TempDir(), t.TempDir()
	i.do("backup", target)
	databases := func() (n int) {
		t.Helper()
		must.Succeed(t, storetest.Pool(t, i.dsn).QueryRow(t.Context(),
			`SELECT count(*) FROM pg_database WHERE datname LIKE 'tsumugi_rehearsal_%'`).Scan(&n))
		return n
	}
	occupied := filepath.Join(reports, "occupied")
	must.Succeed(t, os.WriteFile(occupied, nil, 0o600))
	// Before the rehearsal, which may take hours, and which needs a database that this URL does not have.
	for _, unusable := range []string{filepath.Join(occupied, "reports"), "/proc"} {
		i.refused("--report", "restore", target, "--rehearse", "--report", unusable, "--database", "postgres://127.0.0.1:1/none")
	}
	reports = filepath.Join(reports, "new", "folder")
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
		must.Succeed(t, json.Unmarshal(text, &got))
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
	must.Succeed(t, os.WriteFile(file, []byte("damaged"), 0o600))
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
	req := must.Get(http.NewRequestWithContext(t.Context(), "GET",
		restored.address+"/v1/message/"+exchange.Answer.ID+"/stream", nil))(t)
	req.Header.Set("Authorization", "Bearer "+restored.signIn(t, "user@demo.example"))
	resp := must.Get(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	stream, err := io.ReadAll(resp.Body)
	if err != nil || !strings.Contains(string(stream), "二度目の") || !strings.Contains(string(stream), "data: [DONE]") {
		t.Errorf("%v:\n%s", err, stream)
	}
}

// TestEmbeddedDatabaseChangesItsMajorVersion makes a backup of a running server with its own PostgreSQL, and restores it
// into a new data folder with the PostgreSQL of another major version, as docs/backup.md describes.
func TestEmbeddedDatabaseChangesItsMajorVersion(t *testing.T) {
	t.Parallel()
	programs := os.Getenv("TSUMUGI_TEST_OTHER_POSTGRES")
	if programs == "" {
		t.Skip("needs the programs of another major version in the folder TSUMUGI_TEST_OTHER_POSTGRES")
	}
	parent, target := t.TempDir(), t.TempDir()
	before, after := filepath.Join(parent, "before"), filepath.Join(parent, "after")
	first := start(t, before)
	token := first.signIn(t, "user@demo.example")
	thread := first.thread(t, token)
	if status := first.json(t, "POST", "/v1/message/sync", token, map[string]any{
		"request_id": uuid.NewString(), "thread_id": thread, "content": question,
	}, nil); status != http.StatusOK {
		t.Fatalf("got %d", status)
	}
	old := operating{t, []string{"TSUMUGI_DATA=" + before}}
	old.do("backup", target)
	was := old.major()
	must.Succeed(t, first.end(t, os.Interrupt))

	renewed := operating{t, []string{"TSUMUGI_DATA=" + after, "TSUMUGI_POSTGRES_BIN=" + programs}}
	renewed.do("restore", target)
	second := start(t, after, renewed.environ...)
	var messages struct{ Items []message }
	second.json(t, "GET", "/v1/message?thread_id="+thread, second.signIn(t, "user@demo.example"), nil, &messages)
	if len(messages.Items) != 2 || messages.Items[0].Content != question && messages.Items[1].Content != question {
		t.Errorf("%+v", messages.Items)
	}
	if is := renewed.major(); is == was {
		t.Errorf("the database was, and is, %s", is)
	}
}

// major returns the name and major version of the database of a running server, which doctor finds in order.
func (o operating) major() string {
	o.t.Helper()
	d := o.diagnose()
	database := withoutLatency(d.of("database")[0])
	if database.State != doctor.OK || d.of("migrations")[0].State != doctor.OK {
		o.t.Errorf("%+v", d)
	}
	major, _, _ := strings.Cut(database.Found, ".")
	return major
}
