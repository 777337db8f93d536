package scim_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"sync/atomic"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity/opaque"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/scim"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/leak"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

func TestMain(m *testing.M) { leak.Main(storetest.Suite{M: m}) }

// countingStore counts what lists read.
type countingStore struct {
	*store.DB

	users   atomic.Int64
	largest atomic.Int64 // The largest number of users or members that a call has returned.
	members atomic.Int64
}

func (s *countingStore) note(total *atomic.Int64, n int) {
	total.Add(int64(n))
	s.largest.Store(max(s.largest.Load(), int64(n)))
}

func (s *countingStore) ListSCIMUsers(ctx context.Context, organizationID uuid.UUID, offset, limit int) (
	[]scim.User, int, error,
) {
	users, total, err := s.DB.ListSCIMUsers(ctx, organizationID, offset, limit)
	s.note(&s.users, len(users))
	return users, total, err
}

func (s *countingStore) FilterSCIMUsers(ctx context.Context, organizationID uuid.UUID, match *scim.Match, after uuid.UUID,
	limit int,
) ([]scim.User, error) {
	users, err := s.DB.FilterSCIMUsers(ctx, organizationID, match, after, limit)
	s.note(&s.users, len(users))
	return users, err
}

func (s *countingStore) SetSCIMMembers(ctx context.Context, groups []scim.Group) error {
	err := s.DB.SetSCIMMembers(ctx, groups)
	members := 0
	for _, g := range groups {
		members += len(g.Members)
	}
	s.note(&s.members, members)
	return err
}

const (
	manyUsers  = 3_000
	manyGroups = 40 // Of 300 members each.
)

// directory is an organization with many users and groups, and a client of its identity provider.
type directory struct {
	*countingStore
	t       *testing.T
	handler http.Handler
	token   string
}

func newDirectory(t *testing.T) *directory {
	t.Helper()
	dsn := storetest.DSN(t)
	db := must.Get(store.Open(t.Context(), dsn))(t)
	t.Cleanup(db.Close)
	sql := storetest.Pool(t, dsn)
	secret, organization := "tsumugi_scim_x", uuidv7.New()
	if err := db.CreateOrganization(t.Context(), org.Organization{
		ID: organization, Name: "紡株式会社", AuthType: "federated_idp",
	}); err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct {
		sql  string
		args []any
	}{
		{
			`INSERT INTO scim_tokens (id, organization_id, name, hash, created_by) VALUES (gen_random_uuid(), $1, 'x', $2, 'x')`,
			[]any{organization, opaque.Hash(secret)},
		},
		{`INSERT INTO users (id, organization_id, subject, email, name, role, auth_type, state)
			SELECT gen_random_uuid(), $1, 's' || n, 'u' || n || '@tsumugi.example', '利用者 ' || n, 'general-user', 'federated_idp',
			       CASE WHEN n % 100 = 0 THEN 'inactive' ELSE 'active' END
			FROM generate_series(1, $2::int) n`, []any{organization, manyUsers}},
		{`INSERT INTO scim_users (organization_id, user_id, user_name, external_id, emails, attributes)
			SELECT organization_id, id, email, 'E' || substr(subject, 2), ARRAY[email], jsonb_build_object(
			    'userName', email, 'title', '役職 ' || right(subject, 1),
			    'emails', jsonb_build_array(jsonb_build_object('type', 'work', 'value', email)))
			FROM users`, nil},
		{`INSERT INTO member_groups (organization_id, id, name, source, external_id, request_id, request_hash)
			SELECT $1, gen_random_uuid(), 'グループ ' || n, 'scim', 'G' || n, gen_random_uuid(), ''
			FROM generate_series(1, $2::int) n`, []any{organization, manyGroups}},
		{`INSERT INTO group_members (organization_id, group_id, user_id)
			SELECT g.organization_id, g.id, u.id
			FROM member_groups g
			JOIN users u ON (substr(g.external_id, 2)::int + substr(u.subject, 2)::int) % 10 = 0`, nil},
	} {
		if _, err := sql.Exec(t.Context(), s.sql, s.args...); err != nil {
			t.Fatal(err)
		}
	}
	d := &directory{countingStore: &countingStore{DB: db}, t: t, token: secret}
	service := scim.NewService(d.countingStore, nil, "https://tsumugi.example", slog.New(slog.DiscardHandler))
	d.handler = scim.NewHandler(service, scim.HandlerConfig{
		Origin: func(*http.Request) (netip.Addr, string) { return netip.Addr{}, "" },
		Admit:  func(scim.Client) error { return nil },
	})
	return d
}

// page is a list of resources.
type page struct {
	TotalResults int `json:"totalResults"`
	Resources    []struct {
		ID          string
		UserName    string `json:"userName"`
		DisplayName string `json:"displayName"`
		Members     []struct{ Value string }
	}
}

// list requests a list with a filter, and resets the counts.
func (d *directory) list(path, filter, more string) (got page) {
	d.t.Helper()
	d.users.Store(0)
	d.members.Store(0)
	d.largest.Store(0)
	r := httptest.NewRequestWithContext(d.t.Context(), "GET", scim.Path+path+"?filter="+url.QueryEscape(filter)+more, nil)
	r.Header.Set("Authorization", "Bearer "+d.token)
	w := httptest.NewRecorder()
	d.handler.ServeHTTP(w, r)
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK {
		d.t.Fatalf("%s: %d %s, %v", filter, w.Code, w.Body, err)
	}
	return got
}

// TestFiltersReadEachUserOnce: the filter of an attribute without an index reads each user once, and few of them at a
// time. Alternatives of attributes with indexes read the found users only.
func TestFiltersReadEachUserOnce(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	const size = 200
	for _, c := range []struct {
		filter      string
		total, read int
	}{
		{`active eq false`, 30, manyUsers},
		{`displayName eq "利用者 77"`, 1, manyUsers},
		{`displayName sw "利用者 29" and not (title ew "0")`, 100, manyUsers},
		{`title co "役職 3" or emails.value co "u12@"`, 301, manyUsers},
		{`userName eq "U7@tsumugi.example" or externalId eq "E8" or emails[type eq "work"].value eq "u9@tsumugi.example"`, 3, 3},
		{`active eq true and (userName eq "u100@tsumugi.example" or userName eq "u101@tsumugi.example")`, 1, 2},
		{`id eq "nobody" or externalId eq "nobody"`, 0, 0},
	} {
		got := d.list("/Users", c.filter, "&count=200")
		if got.TotalResults != c.total || len(got.Resources) != min(c.total, size) || int(d.users.Load()) != c.read ||
			d.largest.Load() > size {
			t.Errorf("%s: %d of %d results from %d users, at most %d at a time", c.filter, len(got.Resources),
				got.TotalResults, d.users.Load(), d.largest.Load())
		}
	}

	// The pages of a list contain each user once.
	seen := make(map[string]bool)
	for _, start := range []string{"1", "201", "401", "601"} {
		for _, user := range d.list("/Users", `title ew "3" or title ew "4"`, "&count=200&startIndex="+start).Resources {
			seen[user.ID] = true
		}
	}
	if len(seen) != 600 {
		t.Errorf("%d users on the pages", len(seen))
	}
}

// TestGroupFiltersReadMembersOfThePage: a filter of groups reads the members of the groups on the page, or those of one
// group at a time if it depends on them.
func TestGroupFiltersReadMembersOfThePage(t *testing.T) {
	t.Parallel()
	d := newDirectory(t)
	const size = manyUsers / 10
	group := d.list("/Groups", `displayName eq "グループ 7"`, "&excludedAttributes=members").Resources[0].ID
	if d.members.Load() != 0 {
		t.Errorf("%d members are read for a list without members", d.members.Load())
	}
	if g := d.list("/Groups", `displayName eq "グループ 7"`, "&excludedAttributes=members.display").Resources[0]; len(g.Members) != size {
		t.Errorf("%d members in a list without their names", len(g.Members))
	}
	user := d.list("/Users", `userName eq "u3@tsumugi.example"`, "").Resources[0].ID
	for _, c := range []struct {
		filter, more         string
		total, read, largest int
	}{
		{`displayName eq "グループ 7"`, "", 1, size, size},
		{`displayName sw "グループ 1"`, "&count=2&startIndex=3", 11, 2 * size, 2 * size},
		{`externalId eq "G7"`, "&startIndex=9", 1, 0, 0},
		{`members eq "` + user + `"`, "&count=0", 4, 4 * size, size},
		{`members[value eq "` + user + `"]`, "&excludedAttributes=members", 4, 4 * size, size},
		{`id eq "` + group + `" and members.value eq "` + user + `"`, "&excludedAttributes=members", 1, size, size},
		{`members.display eq "利用者 5"`, "&count=0", 4, manyGroups * size, size},
		{`members eq "nobody"`, "", 0, 0, 0},
	} {
		got := d.list("/Groups", c.filter, c.more)
		if got.TotalResults != c.total || int(d.members.Load()) != c.read || int(d.largest.Load()) > c.largest {
			t.Errorf("%s%s: %d results from %d members, at most %d at a time", c.filter, c.more, got.TotalResults,
				d.members.Load(), d.largest.Load())
		}
		for _, g := range got.Resources {
			if c.read > 0 && c.more == "" && len(g.Members) != size {
				t.Errorf("%s: %d members", c.filter, len(g.Members))
			}
		}
	}
}
