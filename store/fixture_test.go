package store_test

import (
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/skill"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// fixture is a database with two organizations, two members of the first and one of the second, and two skills.
type fixture struct {
	*store.DB
	dsn     string
	sql     *pgxpool.Pool
	a, b    uuid.UUID // Organizations.
	ann     identity.Owner
	bob     identity.Owner // A colleague of Ann.
	mallory identity.Owner // Of the other organization.
	skills  []skill.Skill
	cats    []skill.Category
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	f := &fixture{dsn: storetest.DSN(t), a: newID(), b: newID()}
	f.connect(t)
	for id, name := range map[uuid.UUID]string{f.a: "紡株式会社", f.b: "別の会社"} {
		must.Succeed(t, f.CreateOrganization(t.Context(), org.Organization{ID: id, Name: name, AuthType: "cognito"}))
	}
	f.ann, f.bob, f.mallory = f.user(t, f.a, "ann"), f.user(t, f.a, "bob"), f.user(t, f.b, "mallory")
	f.cats = []skill.Category{{ID: newID(), Name: "基本", Position: 1}, {ID: newID(), Name: "文章", Position: 2}}
	f.skills = []skill.Skill{builtin(f.cats[0].ID, 1, "汎用チャット"), builtin(f.cats[1].ID, 1, "校正")}
	must.Succeed(t, f.SaveBuiltinSkills(t.Context(), f.cats, f.skills))
	return f
}

// connect opens the database of f.dsn.
func (f *fixture) connect(t *testing.T) {
	t.Helper()
	f.DB, f.sql = open(t, f.dsn), storetest.Pool(t, f.dsn)
}

func open(t *testing.T, dsn string) *store.DB {
	t.Helper()
	db := must.Get(store.Open(t.Context(), dsn))(t)
	t.Cleanup(db.Close)
	return db
}

func (f *fixture) user(t *testing.T, organizationID uuid.UUID, name string) identity.Owner {
	t.Helper()
	id := newID()
	must.Succeed(t, f.CreateUser(t.Context(), identity.NewUser{
		ID: id, OrganizationID: organizationID, Subject: "sub-" + name, Email: name + "@example.com", Name: name,
		Role: identity.RoleGeneralUser, AuthType: identity.AuthCognito,
	}))
	return identity.Owner{OrganizationID: organizationID, UserID: id}
}

func builtin(category uuid.UUID, position int, name string) skill.Skill {
	return skill.Skill{
		ID: newID(), CategoryID: category, Position: position, Name: name, Description: "説明", IconPath: "/icons/x.svg",
		FormType: skill.FormChat, Suggestions: []string{"何ができますか"}, Prompt: "あなたは親切な秘書です。",
		FormFields: []skill.FormField{}, Keywords: []string{},
	}
}

// exec runs SQL for a change that the store has no method for, such as moving a time into the past.
func (f *fixture) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	must.Get(f.sql.Exec(t.Context(), sql, args...))(t)
}

// value reads one value that the store has no method for.
func value[T any](t *testing.T, f *fixture, sql string, args ...any) T {
	t.Helper()
	var v T
	must.Succeed(t, f.sql.QueryRow(t.Context(), sql, args...).Scan(&v))
	return v
}

func newID() uuid.UUID { return uuid.Must(uuid.NewV7()) }

func wantCode(t *testing.T, err error, code fault.Code) {
	t.Helper()
	if got := fault.CodeOf(err); got != code {
		t.Fatalf("error %v has code %q, want %q", err, got, code)
	}
}
