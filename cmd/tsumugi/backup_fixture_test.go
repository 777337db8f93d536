package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"image"
	"image/png"
	"io/fs"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
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
		rows := must.Get(pool.Query(t.Context(), sql))(t)
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
	rows, err := pool.Query(t.Context(), `SELECT relname FROM pg_class
		WHERE relnamespace = 'public'::regnamespace AND relkind = 'r'`) // Partitions have the rows of their table.
	must.Succeed(t, err)
	tables := must.Get(pgx.CollectRows(rows, pgx.RowTo[string]))(t)
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
	req := must.Get(http.NewRequestWithContext(t.Context(), "POST", p.address+path, &body))(t)
	req.Header.Set("Content-Type", form.FormDataContentType())
	req.Header.Set("Authorization", "Bearer "+token)
	resp := must.Get(http.DefaultClient.Do(req))(t)
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
	must.Succeed(t, png.Encode(&picture, image.NewGray(image.Rect(0, 0, 8, 8))))
	i.picture = p.send(t, "/v1/picture", token, "図.png", picture.Bytes())
	must.Succeed(t, p.end(t, os.Interrupt))
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
	must.Succeed(t, objects.CreateBucket("backups"))
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
		list := must.Get(objects.ListBucket("backups", nil, gofakes3.ListBucketPage{}))(t)
		for _, object := range list.Contents {
			names = append(names, object.Key)
		}
		return names
	}
	return b
}
