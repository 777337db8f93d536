package datasource_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/bucket"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/extracttest"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
)

// fixture is a database with two people, a folder, and a service that was not started.
type fixture struct {
	t   *testing.T
	db  *store.DB
	dsn string
	sql *pgxpool.Pool
	dir string
	*datasource.Service
	ann, bob identity.Owner

	mu   sync.Mutex
	told []told        // Guarded by mu.
	more chan struct{} // Guarded by mu. Closed with the next event.
}

// told is a change received by changed or deleted.
type told struct {
	owner   identity.Owner
	source  datasource.Source
	deleted uuid.UUID
}

func (f *fixture) changed(owner identity.Owner, source datasource.Source) {
	f.tell(told{owner: owner, source: source})
}

func (f *fixture) deleted(owner identity.Owner, id uuid.UUID) {
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
	f.db, f.sql = db, storetest.Pool(t, f.dsn)
	organization := uuid.Must(uuid.NewV7())
	f.must(db.CreateOrganization(t.Context(), org.Organization{ID: organization, Name: "試験株式会社", AuthType: "cognito"}))
	f.ann, f.bob = f.person(organization, "ann"), f.person(organization, "bob")
	f.Service = f.service(f.db)
	return f
}

// service returns the service of another server that shares the folder.
func (f *fixture) service(db datasource.Store) *datasource.Service {
	f.t.Helper()
	return f.serviceWith(db, datasource.Config{})
}

func (f *fixture) serviceWith(db datasource.Store, cfg datasource.Config) *datasource.Service {
	f.t.Helper()
	cfg.RetryPause, cfg.Poll = time.Millisecond, 20*time.Millisecond
	return f.serviceReading(db, extracttest.InProcess{}, cfg)
}

// serviceReading returns a service with an extractor that reports its changes to f.
func (f *fixture) serviceReading(db datasource.Store, extractor datasource.Extractor, cfg datasource.Config,
) *datasource.Service {
	f.t.Helper()
	cfg.Changed, cfg.Deleted = f.changed, f.deleted
	return datasource.NewService(db, f.bucket(f.dir), extractor, slog.New(slog.DiscardHandler), cfg)
}

func (f *fixture) bucket(dir string) *bucket.Bucket {
	f.t.Helper()
	files, err := bucket.Open(dir)
	f.must(err)
	f.t.Cleanup(func() { f.must(files.Close()) })
	return files
}

// start starts a service until the test ends.
func (f *fixture) start(s *datasource.Service) {
	s.Start()
	f.t.Cleanup(s.Stop)
}

func (f *fixture) person(organizationID uuid.UUID, name string) identity.Owner {
	f.t.Helper()
	id := uuid.Must(uuid.NewV7())
	f.must(f.db.CreateUser(f.t.Context(), identity.NewUser{
		ID: id, OrganizationID: organizationID, Subject: name, Email: name + "@example.com", Name: name,
		Role: identity.RoleGeneralUser, AuthType: identity.AuthCognito,
	}))
	return identity.Owner{OrganizationID: organizationID, UserID: id}
}

func (f *fixture) must(err error) {
	f.t.Helper()
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *fixture) upload(owner identity.Owner, name, content string) (datasource.Source, bool) {
	f.t.Helper()
	source, created, err := f.Upload(f.t.Context(), owner, uuid.Nil, name, strings.NewReader(content))
	f.must(err)
	return source, created
}

// await waits until enough returns true for the events so far, and returns the events.
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
			f.t.Fatalf("events %+v", all)
		}
	}
}

// of returns the events of a data source from a revision, ordered by revision.
func of(id uuid.UUID, since int, all []told) (list []datasource.Source) {
	for _, event := range all {
		if event.source.ID == id && event.source.Revision >= since {
			list = append(list, event.source)
		}
	}
	slices.SortFunc(list, func(a, b datasource.Source) int { return a.Revision - b.Revision })
	return list
}

// ended waits for the end of the reading of a queued data source, and returns its events.
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

// files returns the names of all stored files, including temporary ones.
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

// awaitFiles waits until exactly these files are stored.
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

// exec runs SQL for which the store has no method.
func (f *fixture) exec(sql string, args ...any) {
	f.t.Helper()
	_, err := f.sql.Exec(f.t.Context(), sql, args...)
	f.must(err)
}

// chunks returns the texts of a data source's chunks.
func (f *fixture) chunks(id uuid.UUID) []string {
	f.t.Helper()
	rows, err := f.sql.Query(f.t.Context(),
		`SELECT text FROM data_source_chunks WHERE data_source_id = $1 ORDER BY ordinal`, id)
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
