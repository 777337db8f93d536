package datasource_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/bucket"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/extracttest"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
)

// fixture is a database with two people, a folder, and a service that nothing reads for before Start.
type fixture struct {
	t   *testing.T
	db  *store.DB
	dsn string
	dir string
	*datasource.Service
	ann, bob datasource.Owner

	mu   sync.Mutex
	told []told        // Guarded by mu.
	more chan struct{} // Guarded by mu. Closed with the next event.
}

// told is what Events was told.
type told struct {
	owner   datasource.Owner
	source  datasource.Source
	deleted uuid.UUID
}

func (f *fixture) SourceChanged(owner datasource.Owner, source datasource.Source) {
	f.tell(told{owner: owner, source: source})
}

func (f *fixture) SourceDeleted(owner datasource.Owner, id uuid.UUID) {
	f.tell(told{owner: owner, deleted: id})
}

func (f *fixture) tell(event told) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told = append(f.told, event)
	close(f.more)
	f.more = make(chan struct{})
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{t: t, dsn: storetest.DSN(t), dir: t.TempDir(), more: make(chan struct{})}
	db, err := store.Open(t.Context(), f.dsn)
	f.must(err)
	t.Cleanup(db.Close)
	f.db = db
	organization := uuid.Must(uuid.NewV7())
	f.must(db.CreateOrganization(t.Context(), org.Organization{ID: organization, Name: "試験株式会社", AuthType: "cognito"}))
	f.ann, f.bob = f.person(organization, "ann"), f.person(organization, "bob")
	f.Service = f.service(f.db)
	return f
}

// service returns another server's service on the same folder.
func (f *fixture) service(db datasource.Store) *datasource.Service {
	f.t.Helper()
	return f.serviceWith(db, datasource.Config{})
}

func (f *fixture) serviceWith(db datasource.Store, cfg datasource.Config) *datasource.Service {
	f.t.Helper()
	cfg.Pause, cfg.Poll = time.Millisecond, 20*time.Millisecond
	return datasource.NewService(db, f.bucket(f.dir), extracttest.InProcess{}, f, slog.New(slog.DiscardHandler), cfg)
}

func (f *fixture) bucket(dir string) *bucket.Bucket {
	f.t.Helper()
	files, err := bucket.Open(dir)
	f.must(err)
	f.t.Cleanup(func() { f.must(files.Close()) })
	return files
}

// start has a service read until the test ends.
func (f *fixture) start(s *datasource.Service) {
	s.Start()
	f.t.Cleanup(s.Stop)
}

func (f *fixture) person(organizationID uuid.UUID, name string) datasource.Owner {
	f.t.Helper()
	id := uuid.Must(uuid.NewV7())
	f.must(f.db.CreateUser(f.t.Context(), identity.NewUser{
		ID: id, OrganizationID: organizationID, Subject: name, Email: name + "@example.com", Name: name,
		Role: identity.RoleGeneralUser, AuthType: identity.AuthCognito,
	}))
	return datasource.Owner{OrganizationID: organizationID, UserID: id}
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) upload(owner datasource.Owner, name, content string) (datasource.Source, bool) {
	f.t.Helper()
	source, created, err := f.Upload(f.t.Context(), owner, uuid.Nil, name, strings.NewReader(content))
	f.must(err)
	return source, created
}

// await waits until what was told is enough, and returns it.
func (f *fixture) await(enough func(all []told) bool) []told {
	f.t.Helper()
	deadline := time.After(time.Minute)
	for {
		f.mu.Lock()
		all, more := slices.Clone(f.told), f.more
		f.mu.Unlock()
		if enough(all) {
			return all
		}
		select {
		case <-more:
		case <-deadline:
			f.t.Fatalf("told %+v", all)
		}
	}
}

// of returns what was told of a data source as it is since a revision, in the order of the revisions.
func of(id uuid.UUID, since int, all []told) (list []datasource.Source) {
	for _, event := range all {
		if event.source.ID == id && event.source.Revision >= since {
			list = append(list, event.source)
		}
	}
	slices.SortFunc(list, func(a, b datasource.Source) int { return a.Revision - b.Revision })
	return list
}

// ended waits until the reading of a data source that waits has ended, and returns what was told of it.
func (f *fixture) ended(source datasource.Source) []datasource.Source {
	f.t.Helper()
	return of(source.ID, source.Revision, f.await(func(all []told) bool {
		return slices.ContainsFunc(of(source.ID, source.Revision, all), func(s datasource.Source) bool {
			return s.Status == datasource.Success || s.Status == datasource.Failed
		})
	}))
}

func statuses(list []datasource.Source) (statuses []datasource.Status) {
	for _, s := range list {
		statuses = append(statuses, s.Status)
	}
	return statuses
}

// files returns the names of the files that are kept, temporary ones among them.
func (f *fixture) files() (names []string) {
	f.t.Helper()
	f.must(filepath.WalkDir(f.dir, func(_ string, entry os.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, entry.Name())
		}
		return err
	}))
	return names
}

// awaitFiles waits until only these files are kept.
func (f *fixture) awaitFiles(ids ...uuid.UUID) {
	f.t.Helper()
	var want []string
	for _, id := range ids {
		want = append(want, id.String())
	}
	slices.Sort(want)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(time.Minute)
	for !slices.Equal(f.files(), want) {
		select {
		case <-tick.C:
		case <-deadline:
			f.t.Fatalf("the files are %v, want %v", f.files(), want)
		}
	}
}

// exec runs SQL that no method of the store offers.
func (f *fixture) exec(sql string, args ...any) {
	f.t.Helper()
	conn, err := pgx.Connect(f.t.Context(), f.dsn)
	f.must(err)
	defer func() { _ = conn.Close(context.Background()) }()
	_, err = conn.Exec(f.t.Context(), sql, args...)
	f.must(err)
}

// chunks returns the text of a data source's chunks.
func (f *fixture) chunks(id uuid.UUID) []string {
	f.t.Helper()
	conn, err := pgx.Connect(f.t.Context(), f.dsn)
	f.must(err)
	defer func() { _ = conn.Close(context.Background()) }()
	rows, err := conn.Query(f.t.Context(), `SELECT text FROM data_source_chunks WHERE data_source_id = $1 ORDER BY ordinal`, id)
	f.must(err)
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	f.must(err)
	return texts
}

func wantCode(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if fault.CodeOf(err) != code {
		t.Errorf("error %v has the code %q, want %q", err, fault.CodeOf(err), code)
	}
}

func TestUploadIsReadAndEachStepTold(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(f.Service)
	source, created := f.upload(f.ann, "就業規則.txt", "第1条 始業は9時とする。\n\n第2条 終業は18時とする。")
	if !created || source.Status != datasource.Pending || source.Revision != 1 || source.MediaType != "text/plain" ||
		source.Size != 69 {
		t.Errorf("created %v, %+v", created, source)
	}
	all := f.ended(source)
	if got := statuses(all); !slices.Equal(got, []datasource.Status{
		datasource.Pending, datasource.Running,
		datasource.Success,
	}) {
		t.Errorf("told %v", got)
	}
	last := all[len(all)-1]
	if last.Revision != 3 || last.PageCount != 1 || last.ChunkCount == 0 || last.Failure != "" {
		t.Errorf("ended as %+v", last)
	}
	if text := strings.Join(f.chunks(source.ID), ""); !strings.Contains(text, "始業は9時") ||
		!strings.Contains(text, "終業は18時") {
		t.Errorf("the chunks are %q", text)
	}
	list, err := f.List(t.Context(), f.ann, "", 0, 20)
	f.must(err)
	if len(list) != 1 || list[0].Status != datasource.Success || list[0].Revision != last.Revision {
		t.Errorf("the list is %+v", list)
	}
	found, file, err := f.Open(t.Context(), f.ann, source.ID)
	f.must(err)
	defer file.Close()
	content, err := io.ReadAll(file)
	f.must(err)
	if found.Filename != "就業規則.txt" || !bytes.HasPrefix(content, []byte("第1条")) || len(content) != 69 {
		t.Errorf("%s holds %q", found.Filename, content)
	}
}

func TestUnreadableFileSaysWhyAndMayBeUploadedAgain(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(f.Service)
	binary := strings.Repeat("\x00\x01\x02\x03\xff", 100)
	source, _ := f.upload(f.ann, "画像.txt", binary)
	failed := f.ended(source)[2]
	if failed.Status != datasource.Failed || failed.Failure == "" || failed.ChunkCount != 0 {
		t.Fatalf("ended as %+v", failed)
	}
	again, created := f.upload(f.ann, "画像.csv", binary)
	if created || again.ID != source.ID || again.Status != datasource.Pending || again.Revision <= failed.Revision ||
		again.Filename != "画像.csv" || again.MediaType != "text/csv" || again.Failure != "" {
		t.Errorf("created %v, %+v", created, again)
	}
	want := []datasource.Status{datasource.Pending, datasource.Running, datasource.Failed}
	if got := statuses(f.ended(again)); !slices.Equal(got, want) {
		t.Errorf("told %v", got)
	}
	f.awaitFiles(source.ID)
}

func TestSameContentIsKeptOnceForEachPerson(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	first, _ := f.upload(f.ann, "議事録.txt", "本日の議題は三つです。")
	f.start(f.Service)
	if last := f.ended(first)[2]; last.Status != datasource.Success {
		t.Fatalf("ended as %+v", last)
	}
	second, created := f.upload(f.ann, "議事録のコピー.txt", "本日の議題は三つです。")
	if created || second.ID != first.ID || second.Filename != "議事録.txt" || second.Status != datasource.Success {
		t.Errorf("created %v, %+v", created, second)
	}
	others, created := f.upload(f.bob, "議事録.txt", "本日の議題は三つです。")
	if !created || others.ID == first.ID {
		t.Errorf("a colleague: created %v, %+v", created, others)
	}
	f.ended(others)
	f.awaitFiles(first.ID, others.ID)
	if list, err := f.List(t.Context(), f.ann, "", 0, 20); err != nil || len(list) != 1 {
		t.Errorf("%v, %+v", err, list)
	}
}

func TestDeletedSourceTakesItsFileAlong(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(f.Service)
	source, _ := f.upload(f.ann, "a.md", "# 見出し\n\n本文")
	f.ended(source)
	wantCode(t, f.Delete(t.Context(), f.bob, source.ID), fault.NotFound)
	_, _, err := f.Open(t.Context(), f.bob, source.ID)
	wantCode(t, err, fault.NotFound)
	// What a server leaves behind that dies while it writes.
	f.must(os.WriteFile(filepath.Join(f.dir, "data-source", source.ID.String()+".1234.tmp"), []byte("半"), 0o600))
	f.must(f.Delete(t.Context(), f.ann, source.ID))
	f.await(func(all []told) bool {
		return slices.ContainsFunc(all, func(e told) bool { return e.deleted == source.ID && e.owner == f.ann })
	})
	f.awaitFiles()
	wantCode(t, f.Delete(t.Context(), f.ann, source.ID), fault.NotFound)
}

// TestFilesOfARemovedPersonGo: nobody calls Delete for them.
func TestFilesOfARemovedPersonGo(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	source, _ := f.upload(f.ann, "a.txt", "私のメモ")
	kept, _ := f.upload(f.bob, "a.txt", "私のメモ")
	f.exec(`DELETE FROM users WHERE id = $1`, f.ann.UserID)
	f.start(f.Service)
	f.awaitFiles(kept.ID)
	wantCode(t, f.Delete(t.Context(), f.ann, source.ID), fault.NotFound)
}

func TestRefusedUploadsLeaveNothing(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.start(f.Service)
	cut := errors.New("cut")
	for name, test := range map[string]struct {
		filename string
		content  io.Reader
		want     func(error) bool
	}{
		"empty":     {"a.txt", strings.NewReader(""), hasCode(fault.Invalid)},
		"too large": {"a.txt", io.LimitReader(letters{}, datasource.MaxSize+1), hasCode(fault.TooLarge)},
		"cut off": {
			"a.txt", io.MultiReader(strings.NewReader("半分"), iotest.ErrReader(cut)),
			func(err error) bool { return errors.Is(err, cut) },
		},
		"a program": {"a.exe", strings.NewReader("MZ"), hasCode(datasource.UnsupportedType)},
		"Word 97": {"a.doc", strings.NewReader("x"), func(err error) bool {
			return hasCode(datasource.UnsupportedType)(err) && strings.Contains(err.Error(), "「名前を付けて保存」で.docx形式")
		}},
		"no kind": {"README", strings.NewReader("x"), hasCode(datasource.UnsupportedType)},
		"no name": {"\u202e/", strings.NewReader("x"), hasCode(fault.Invalid)},
	} {
		if _, _, err := f.Upload(t.Context(), f.ann, uuid.Nil, test.filename, test.content); !test.want(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	f.awaitFiles()
	if list, err := f.List(t.Context(), f.ann, "", 0, 20); err != nil || len(list) != 0 {
		t.Errorf("%v, %+v", err, list)
	}
	if source, created := f.upload(f.ann, "全部.txt", strings.Repeat("a", datasource.MaxSize)); !created ||
		source.Size != datasource.MaxSize {
		t.Errorf("as large as it may be: %+v", source)
	}
}

func hasCode(code fault.Code) func(error) bool {
	return func(err error) bool { return fault.CodeOf(err) == code }
}

// letters has no end.
type letters struct{}

func (letters) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a'
	}
	return len(p), nil
}

func TestR65_NamesAreCleaned(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for given, want := range map[string]string{
		"../../etc/passwd.txt":            "passwd.txt",
		`C:\Users\花子\規程.txt`:              "規程.txt",
		"a\x00b\r\nc.txt":                 "abc.txt",
		"請求\u202etxt.exe.txt":             "請求txt.exe.txt",
		"カ\u3099イト.txt":                   "ガイト.txt",
		"\xff壊れた.txt":                     "\uFFFD壊れた.txt",
		strings.Repeat("長", 300) + ".txt": strings.Repeat("長", 238) + "…" + strings.Repeat("長", 12) + ".txt",
	} {
		for _, given := range []string{given, "\t " + given + " "} {
			if source, _ := f.upload(f.ann, given, given); source.Filename != want {
				t.Errorf("%q became %q, want %q", given, source.Filename, want)
			}
		}
	}
}

// TestAnyServerReadsWhatIsUploaded: each file once, though two servers look for them.
func TestAnyServerReadsWhatIsUploaded(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	db, err := store.Open(t.Context(), f.dsn)
	f.must(err)
	t.Cleanup(db.Close)
	f.start(f.Service)
	f.start(f.service(db))
	const n = 20
	for i := range n {
		f.upload(f.ann, "a.txt", strings.Repeat("あ", i+1))
	}
	count := func(all []told, status datasource.Status) (n int) {
		for _, event := range all {
			if event.source.Status == status {
				n++
			}
		}
		return n
	}
	all := f.await(func(all []told) bool { return count(all, datasource.Success) == n })
	if running := count(all, datasource.Running); running != n {
		t.Errorf("%d readings of %d files", running, n)
	}
}

func TestReadingThatFailsIsTriedAgainAndEnds(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	source, _ := f.upload(f.ann, "a.txt", "消えるファイル")
	f.must(os.Remove(filepath.Join(f.dir, "data-source", source.ID.String())))
	f.start(f.Service)
	all := f.ended(source)
	if last := all[len(all)-1]; last.Status != datasource.Failed || !strings.Contains(last.Failure, "管理者") ||
		len(all) != 1+2*5 {
		t.Errorf("told %v, ended as %+v", statuses(all), last)
	}
}

// TestReadingThatEndsTheServerIsGivenUp: whoever begins it for the sixth time does not read it.
func TestReadingThatEndsTheServerIsGivenUp(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	source, _ := f.upload(f.ann, "a.txt", "読めるはずのファイル")
	for range 5 {
		_, found, err := f.db.NextReading(t.Context(), false, 0) // And then the server is gone.
		if f.must(err); !found {
			t.Fatal("nothing waits")
		}
	}
	f.start(f.Service)
	all := f.ended(source)
	if last := all[len(all)-1]; last.Status != datasource.Failed || last.Failure == "" {
		t.Errorf("ended as %+v", last)
	}
}

// slowly is a file of which each page takes until it is let go.
type slowly struct {
	extracttest.InProcess
	read chan struct{} // Takes a value for each page.
}

func (s slowly) Extract(ctx context.Context, _ string, _ io.Reader, page func(extract.Page, int) error) error {
	for i := range 3 {
		select {
		case s.read <- struct{}{}:
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := page(extract.Page{Number: i + 1, Text: "本文"}, 3); err != nil {
			return err
		}
	}
	return nil
}

// TestReadingTellsHowFarItIs, ends when it is stopped, and begins again.
func TestReadingTellsHowFarItIs(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	pages := slowly{read: make(chan struct{})}
	s := datasource.NewService(f.db, f.bucket(f.dir), pages, f, slog.New(slog.DiscardHandler), datasource.Config{
		Poll: 20 * time.Millisecond, Told: time.Nanosecond,
	})
	f.start(s)
	source, _ := f.upload(f.ann, "a.txt", "本文")
	at := func(status datasource.Status, done int) {
		f.await(func(all []told) bool {
			return slices.ContainsFunc(all, func(e told) bool {
				return e.source.ID == source.ID && e.source.Status == status && e.source.Done == done
			})
		})
	}
	<-pages.read
	at(datasource.Running, 1)
	<-pages.read
	at(datasource.Running, 2)
	_, err := s.StopReading(t.Context(), f.bob, source.ID)
	if fault.CodeOf(err) != fault.NotFound {
		t.Errorf("somebody else stops it: %v", err)
	}
	stopped, err := s.StopReading(t.Context(), f.ann, source.ID)
	f.must(err)
	if stopped.Status != datasource.Failed || !strings.Contains(stopped.Failure, "やり直す") {
		t.Errorf("stopped as %+v", stopped)
	}
	_, err = s.ReadAgain(t.Context(), f.ann, source.ID)
	f.must(err)
	for range 3 {
		<-pages.read
	}
	f.await(func(all []told) bool {
		return slices.ContainsFunc(all, func(e told) bool {
			return e.source.Status == datasource.Success &&
				e.source.PageCount == 3
		})
	})
}
