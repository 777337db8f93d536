package store_test

import (
	"errors"
	"io/fs"
	"slices"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/chat"
	"github.com/tsumugi-ai/tsumugi/chat/ground"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/migrations"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestContractsOfAnOlderDatabase: the migration adds a contract for each existing organization and counts past usage by
// days in Japan.
func TestContractsOfAnOlderDatabase(t *testing.T) {
	t.Parallel()
	f := &fixture{dsn: emptyDatabase(t), a: newID(), b: newID()}
	f.connect(t)
	before := fstest.MapFS{}
	for _, name := range []string{"0001_init.sql", "0002_pool.sql", "0003_notify.sql"} {
		text := must.Get(fs.ReadFile(migrations.Files, name))(t)
		before[name] = &fstest.MapFile{Data: text}
	}
	must.Succeed(t, f.MigrateFrom(t.Context(), before))

	user, category, skillID, thread, question := newID(), newID(), newID(), newID(), newID()
	f.exec(t, `INSERT INTO organizations (id, name, created_at) VALUES ($1, '古い会社', '2026-03-31T15:30:00Z'),
			($2, '新しい会社', '2026-03-31T14:30:00Z')`, f.a, f.b)
	f.exec(t, `INSERT INTO users (id, organization_id, subject, email, name, role)
			VALUES ($1, $2, 'sub', 'ann@example.com', '安', 'general-user')`, user, f.a)
	f.exec(t, `INSERT INTO categories (id, name, position) VALUES ($1, '基本', 1)`, category)
	f.exec(t, `INSERT INTO skills (id, category_id, position, name, icon_path, form_type, prompt)
			VALUES ($1, $2, 1, '汎用', '', 'chat', '')`, skillID, category)
	f.exec(t, `INSERT INTO threads (id, organization_id, user_id, skill_id) VALUES ($1, $2, $3, $4)`, thread, f.a, user,
		skillID)
	f.exec(t, `INSERT INTO messages (id, organization_id, thread_id, role, status, completed_at)
			VALUES ($1, $2, $3, 'user', 'success', now())`, question, f.a, thread)
	answer := func(at any, status string, in, out int) {
		f.exec(t, `INSERT INTO messages (id, organization_id, thread_id, role, status, question_id, completed_at,
				input_tokens, output_tokens)
			VALUES ($1, $2, $3, 'assistant', $4, $5, $6, $7, $8)`, newID(), f.a, thread, status, question, at, in, out)
	}
	answer(time.Date(2026, 10, 31, 14, 59, 59, 0, time.UTC), "success", 1, 10) // The last second of October in Japan.
	answer(time.Date(2026, 10, 31, 15, 0, 0, 0, time.UTC), "success", 2, 20)   // The first second of November in Japan.
	answer(time.Date(2026, 11, 1, 14, 0, 0, 0, time.UTC), "failed", 4, 40)
	answer(nil, "pending", 0, 0)
	must.Succeed(t, f.Migrate(t.Context()))

	day := func(date string) (n [3]int) {
		const sums = ` FROM usage_daily WHERE organization_id = $1 AND user_id = $2 AND date = $3`
		for i, column := range []string{"messages", "input_tokens", "output_tokens"} {
			n[i] = value[int](t, f, `SELECT coalesce(sum(`+column+`), 0)`+sums, f.a, user, date)
		}
		return n
	}
	if got := day("2026-10-31"); got != [3]int{1, 1, 10} {
		t.Errorf("October: %v", got)
	}
	if got := day("2026-11-01"); got != [3]int{2, 6, 60} {
		t.Errorf("November: %v", got)
	}
	for id, starts := range map[uuid.UUID]string{f.a: "2026-04-01", f.b: "2026-03-31"} {
		view, err := f.ContractView(t.Context(), id)
		if err != nil || view.Plan != "スタンダード" || view.Status != org.ContractActive || view.Seats != 50 ||
			view.Tokens != 10_000_000 ||
			view.StartsOn.Format(time.DateOnly) != starts || view.EndsOn != nil {
			t.Errorf("contract %+v, %v", view, err)
		}
	}
}

func TestContractView(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	today := value[time.Time](t, f, `SELECT (now() AT TIME ZONE 'Asia/Tokyo')::date`)
	use := func(user uuid.UUID, daysAgo, messages, in, out int) {
		f.exec(t, `INSERT INTO usage_daily VALUES ($1, $2, $3, $4, $5, $6)`, f.a, today.AddDate(0, 0, -daysAgo), user,
			messages, in, out)
	}
	removed, older := newID(), newID()
	use(f.ann.UserID, 0, 1, 10, 100)
	use(f.bob.UserID, 0, 2, 20, 200)
	use(f.ann.UserID, 29, 3, 30, 300)
	use(f.ann.UserID, 30, 4, 40, 400) // Outside of the period.
	use(removed, 1, 5, 1, 1)
	use(older, 2, 6, 1, 1)
	view := must.Get(f.ContractView(t.Context(), f.a))(t)
	if len(view.Usage) != org.UsageDays || !view.Usage[29].Date.Equal(today) ||
		!view.Usage[0].Date.Equal(today.AddDate(0, 0, -29)) {
		t.Fatalf("days %+v", view.Usage)
	}
	for i, want := range map[int]org.Usage{
		29: {Messages: 3, InputTokens: 30, OutputTokens: 300},
		0:  {Messages: 3, InputTokens: 30, OutputTokens: 300}, 15: {},
	} {
		if view.Usage[i].Usage != want {
			t.Errorf("day %d: %+v, want %+v", i, view.Usage[i].Usage, want)
		}
	}
	first := today.AddDate(0, 0, 1-today.Day())
	var month int64
	for _, d := range view.Usage {
		if !d.Date.Before(first) {
			month += d.InputTokens + d.OutputTokens
		}
	}
	if today.Day() == 31 { // The whole month is longer than the displayed period.
		month += 440
	}
	if view.TokensUsed != month || !view.ResetsOn.Equal(first.AddDate(0, 1, 0)) || view.SeatsUsed != 2 {
		t.Errorf("%d tokens, want %d; resets on %s; %d seats", view.TokensUsed, month, view.ResetsOn, view.SeatsUsed)
	}

	members, total, err := f.UsageByMember(t.Context(), f.a, 0, 2)
	if err != nil || total != 3 || len(members) != 2 || *members[0].UserID != f.ann.UserID ||
		members[0].Name != "ann" ||
		members[0].Usage != (org.Usage{Messages: 4, InputTokens: 40, OutputTokens: 400}) ||
		*members[1].UserID != f.bob.UserID {
		t.Errorf("by member: %+v of %d, %v", members, total, err)
	}
	members, _, err = f.UsageByMember(t.Context(), f.a, 2, 2)
	if err != nil || len(members) != 1 || members[0].UserID != nil ||
		members[0].Usage != (org.Usage{Messages: 11, InputTokens: 2, OutputTokens: 2}) {
		t.Errorf("removed members: %+v, %v", members, err)
	}
	if members, total, err := f.UsageByMember(t.Context(), f.b, 0, 10); err != nil || len(members) != 0 || total != 0 {
		t.Errorf("another organization's: %+v of %d, %v", members, total, err)
	}
	if _, err := f.ContractView(t.Context(), newID()); !errors.Is(err, org.ErrNoOrganization) {
		t.Errorf("no organization: %v", err)
	}
}

func TestOperatorsContracts(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	operator := org.Operator("root")
	seats, tokens, plan, status := 5, int64(1_000), "プロ", org.ContractTrial
	ends := time.Date(2040, 3, 31, 0, 0, 0, 0, time.UTC)
	o := org.Organization{ID: newID(), Name: "新会社", AuthType: "cognito", MailDomains: []string{"new.example"}}
	must.Succeed(t, f.OpenOrganization(t.Context(), o, org.ContractEdit{
		Seats: &seats, Tokens: &tokens, Plan: &plan,
		Status: &status, EndsOn: &ends,
	}, operator))
	wantCode(t, f.OpenOrganization(t.Context(), o, org.ContractEdit{}, operator), fault.Conflict)
	negative := -1
	o2 := org.Organization{ID: newID(), Name: "x", AuthType: "cognito"}
	wantCode(t, f.OpenOrganization(t.Context(), o2, org.ContractEdit{Seats: &negative}, operator), fault.Invalid)
	_, err := f.FindOrganization(t.Context(), o2.ID)
	wantCode(t, err, fault.NotFound)

	list := must.Get(f.ListOrganizations(t.Context()))(t)
	i := slices.IndexFunc(list, func(s store.OrganizationSummary) bool { return s.ID == o.ID })
	if len(list) != 3 || i < 0 || list[i].Name != o.Name || !slices.Equal(list[i].MailDomains, o.MailDomains) ||
		list[i].Plan != plan ||
		list[i].Seats != 5 || list[i].Tokens != 1000 || list[i].Status != status || !list[i].EndsOn.Equal(ends) {
		t.Errorf("listed %+v", list)
	}
	seats = 6
	c, err := f.SetContract(t.Context(), o.ID, org.ContractEdit{Seats: &seats, Open: true}, operator)
	if err != nil || c.Seats != 6 || c.EndsOn != nil || c.Plan != plan || c.Tokens != 1000 {
		t.Errorf("set %+v, %v", c, err)
	}
	_, err = f.SetContract(t.Context(), o.ID, org.ContractEdit{Seats: &seats}, operator) // Unchanged: no entry.
	must.Succeed(t, err)
	_, err = f.SetContract(t.Context(), newID(), org.ContractEdit{Seats: &seats}, operator)
	wantCode(t, err, fault.NotFound)
	early := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	_, err = f.SetContract(t.Context(), o.ID, org.ContractEdit{EndsOn: &early}, operator)
	wantCode(t, err, fault.Invalid)

	events, total, err := f.ListEvents(t.Context(), org.AuditQuery{OrganizationID: &o.ID, Limit: 10})
	if err != nil || total != 2 || events[0].Action != org.ActionContract ||
		events[1].Action != org.ActionOrganization ||
		events[0].By.Kind != org.ByOperator || events[0].By.Name != "root" || events[0].TargetLabel != o.Name ||
		!slices.Equal(events[0].Details, []org.Change{
			{Field: "seats", Before: "5", After: "6"},
			{Field: "ends_on", Before: "2040-03-31"},
		}) {
		t.Errorf("logged %+v, %v", events, err)
	}
}

// TestUsageIsCountedOnce: answers of one user end concurrently in several threads. Each end is reported twice, by the
// current server and by a server that was too slow.
func TestUsageIsCountedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := newID()
	const answers = 12
	var all sync.WaitGroup
	for range answers {
		begun := must.Get(f.BeginGeneration(t.Context(), question(f.ann, f.thread(t, f.ann).ID, server)))(t)
		good := outcome(f.ann, begun, server, "回答")
		stale := good
		stale.ServerID = newID()
		for _, o := range []chat.Outcome{good, good, stale} {
			all.Go(func() {
				if err := f.end(t, o); err != nil && !errors.Is(err, chat.ErrStaleRun) {
					t.Error(err)
				}
			})
		}
	}
	all.Wait()
	members, _, err := f.UsageByMember(t.Context(), f.a, 0, 10)
	if err != nil || len(members) != 1 || members[0].Usage != (org.Usage{
		Messages: answers, InputTokens: 12 * answers,
		OutputTokens: 34 * answers,
	}) {
		t.Errorf("counted %+v, %v", members, err)
	}
}

// TestNoticesForAdministrators: other members can neither see such notices nor mark them as read.
func TestNoticesForAdministrators(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	ours, everywhere := newID(), newID()
	for id, organization := range map[uuid.UUID]*uuid.UUID{ours: &f.a, everywhere: nil} {
		must.Succeed(t, f.PublishNotification(t.Context(), org.Notification{
			ID: id, OrganizationID: organization, Title: "x", Level: org.LevelWarning, Audience: org.AudienceAdmins,
		}))
	}
	visible := func(role identity.Role) int {
		f.exec(t, `UPDATE users SET role = $2 WHERE id = $1`, f.ann.UserID, role)
		list := must.Get(f.ListNotifications(t.Context(), f.a, f.ann.UserID, 0, 10))(t)
		must.Succeed(t, f.ReadNotifications(t.Context(), f.a, f.ann.UserID, []uuid.UUID{ours, everywhere}))
		read := value[int](t, f, `SELECT count(*) FROM notification_reads WHERE user_id = $1`, f.ann.UserID)
		f.exec(t, `DELETE FROM notification_reads`)
		if read != len(list) {
			t.Errorf("%s sees %d and marks %d", role, len(list), read)
		}
		return len(list)
	}
	for role, want := range map[identity.Role]int{
		identity.RoleGeneralUser: 0, identity.RoleOrganizationAdmin: 2, identity.RoleOrganizationSuperAdmin: 2,
		identity.RoleSystemAdmin: 0,
	} {
		if got := visible(role); got != want {
			t.Errorf("%s sees %d, want %d", role, got, want)
		}
	}
	if n, err := f.FindNotification(t.Context(), ours); err != nil || n.Audience != org.AudienceAdmins {
		t.Errorf("found %+v, %v", n, err)
	}
}

// TestLimitNoticesOfAMonth: a server that reports the first limit late sends no notice after that of the second limit.
func TestLimitNoticesOfAMonth(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	for _, percent := range []int{100, 80, 100} {
		must.Succeed(t, f.PublishLimitNotice(t.Context(), f.a, percent, org.Notification{
			ID: newID(), OrganizationID: &f.a, Title: "x", Level: org.LevelWarning, Audience: org.AudienceAdmins,
		}))
	}
	if n := value[int](t, f, `SELECT count(*) FROM notifications`); n != 1 {
		t.Errorf("%d notices", n)
	}
	if b, err := f.Balance(t.Context(), f.a); err != nil || b.Notified != 100 {
		t.Errorf("got %+v, %v", b, err)
	}
	f.exec(t, `UPDATE contract_notices SET month = (month - interval '1 month')::date`)
	if b, err := f.Balance(t.Context(), f.a); err != nil || b.Notified != 0 {
		t.Errorf("a month later: %+v, %v", b, err)
	}
}

// TestR45_MembersWhoChangeAreNotified: servers are notified of members whose role, state, membership or sign-in method
// has changed, and of no others.
func TestR45_MembersWhoChangeAreNotified(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	told := f.watchUsers(t)
	wantNotified(t, told, uuid.Nil)
	f.exec(t, `UPDATE users SET name = '別名', role = role, state = state, last_signed_in_at = now()`)
	f.exec(t, `UPDATE organizations SET name = '別名', auth_type = auth_type`)
	f.exec(t, `UPDATE users SET role = 'organization-admin' WHERE id = $1`, f.ann.UserID)
	wantNotified(t, told, f.ann.UserID)
	f.exec(t, `UPDATE users SET state = 'inactive' WHERE id = $1`, f.bob.UserID)
	wantNotified(t, told, f.bob.UserID)
	f.exec(t, `UPDATE organizations SET auth_type = 'federated_idp' WHERE id = $1`, f.b)
	wantNotified(t, told, f.mallory.UserID)
	f.exec(t, `DELETE FROM users WHERE id = $1`, f.ann.UserID)
	wantNotified(t, told, f.ann.UserID)
}

// TestUsageByModel: answers, titles and notes count for the model that generated them, in the same transaction as for
// the user. They also count if the thread has been deleted.
func TestUsageByModel(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	server := newID()
	answer := func(model string) (chat.StoredGeneration, chat.Outcome) {
		begun := f.begin(t, f.ann, server)
		o := outcome(f.ann, begun, server, "回答")
		o.ModelID, o.ModelName = model, "標準"
		return begun, o
	}
	for range 2 { // Reported twice, counted once.
		_, o := answer("standard")
		must.Succeed(t, f.end(t, o))
		must.Succeed(t, f.end(t, o))
	}
	begun, o := answer("careful")
	_, err := f.DeleteThread(t.Context(), f.ann, begun.Answer.ThreadID)
	must.Succeed(t, err)
	if counted, err := f.CountDeleted(t.Context(), o); err != nil || !counted {
		t.Errorf("counted %v, %v", counted, err)
	}
	_, _, err = f.TitleThread(t.Context(), chat.GeneratedTitle{
		Owner: f.ann, ThreadID: newID(), Text: "題", ModelID: "small", InputTokens: 100, OutputTokens: 5,
	})
	must.Succeed(t, err)
	for owner, tokens := range map[identity.Owner]int{f.bob: 1000, f.mallory: 1} {
		must.Get(f.PutNote(t.Context(), owner, ground.Note{
			AnswerID: f.begin(t, owner, server).Answer.ID, ModelID: "standard", InputTokens: tokens, OutputTokens: 7,
		}))(t)
	}

	today := value[time.Time](t, f, `SELECT (now() AT TIME ZONE 'Asia/Tokyo')::date`)
	period := org.Period{From: today, To: today}
	want := []org.ModelUsage{
		{ModelID: "standard", Usage: org.Usage{Messages: 2, InputTokens: 1024, OutputTokens: 75}},
		{ModelID: "small", Usage: org.Usage{InputTokens: 100, OutputTokens: 5}},
		{ModelID: "careful", Usage: org.Usage{Messages: 1, InputTokens: 12, OutputTokens: 34}},
	}
	got, total, err := f.UsageByModel(t.Context(), f.a, period, 0, 2)
	if err != nil || total != 3 || !slices.Equal(got, want[:2]) {
		t.Errorf("by model: %+v of %d, %v", got, total, err)
	}
	if got, _, err = f.UsageByModel(t.Context(), f.a, period, 2, 2); err != nil || !slices.Equal(got, want[2:]) {
		t.Errorf("the second page: %+v, %v", got, err)
	}
	before := org.Period{From: today.AddDate(0, 0, -2), To: today.AddDate(0, 0, -1)}
	if got, total, err := f.UsageByModel(t.Context(), f.a, before, 0, 2); err != nil || len(got)+total != 0 {
		t.Errorf("before: %+v of %d, %v", got, total, err)
	}
	days, err := f.DailyUsageByModel(t.Context(), f.a, period, 2)
	if err != nil || len(days) != 2 || days[1].ModelID != "small" || !days[1].Date.Equal(today) ||
		days[1].Usage != want[1].Usage {
		t.Errorf("by day: %+v, %v", days, err)
	}
	const sums = `SELECT (sum(messages), sum(input_tokens), sum(output_tokens))::text FROM `
	if a, b := value[string](t, f, sums+`usage_daily`), value[string](t, f, sums+`usage_models`); a != b {
		t.Errorf("by person %s, by model %s", a, b)
	}
}
