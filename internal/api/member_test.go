package api_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// value returns the result of an SQL query.
func value[T any](f *fixture, sql string, args ...any) T {
	f.t.Helper()
	var v T
	must.Succeed(f.t, f.sql.QueryRow(f.t.Context(), sql, args...).Scan(&v))
	return v
}

// contents returns a digest of each table by name, except for the table of live servers.
func (f *fixture) contents() map[string]string {
	f.t.Helper()
	digests := make(map[string]string)
	for _, table := range value[[]string](f,
		`SELECT array_agg(tablename::text) FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'servers'`) {
		digests[table] = value[string](f,
			`SELECT coalesce(md5(string_agg(t::text, ',' ORDER BY t::text)), '') FROM `+
				pgx.Identifier{table}.Sanitize()+` t`)
	}
	return digests
}

// TestR61_ServerControlledFieldsAreRefused sends server-controlled fields in every body.
func TestR61_ServerControlledFieldsAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ids := map[kind]string{nothing: newID()} // A well-formed id of no object.
	for _, k := range []kind{
		aThread, aMessage, aSkill, aMadeSkill, aRequest, aCategory, aMember, aTrial, aShare, aNotice, aGroup,
		aProject, aSCIMToken, aToolCall, aToolServer,
	} {
		ids[k] = w.make(k, w.super, w.super)
	}
	before := w.contents()
	tried := 0
	for _, route := range slices.Sorted(maps.Keys(access)) {
		r := access[route]
		if r.body == nil {
			continue
		}
		tried++
		for _, field := range []string{
			"organization_id", "role", "owner", "usage", "id", "user", "state", "__proto__",
			"Subject",
		} {
			c := r.call(route, w.super, ids[r.names])
			body := maps.Clone(c.body.(map[string]any))
			if _, taken := body[field]; taken || strings.HasPrefix(route, "PUT /v1/user/") &&
				(field == "role" || field == "state") || route == "POST /v1/slack-link" && field == "state" ||
				inOpenAIForm(route) && field == "user" {
				continue
			}
			body[field] = "organization-super-admin"
			c.body = body
			resp := w.do(c)
			if p := resp.problem(t); resp.status != http.StatusBadRequest || len(p.Errors) != 1 ||
				p.Errors[0].Field != field {
				t.Errorf("%s with %s: %d %+v", route, field, resp.status, p)
			}
		}
	}
	resp := w.do(call{method: "POST", path: "/v1/user/invite", token: w.super, body: map[string]any{"users": []any{
		map[string]any{
			"email": "new@tsumugi.example", "name": "新人", "role": "general-user",
			"organization_id": w.stranger.OrganizationID,
		},
	}}})
	if p := resp.problem(t); resp.status != http.StatusBadRequest || len(p.Errors) != 1 ||
		p.Errors[0].Field != "organization_id" {
		t.Errorf("an invitation into another organization: %d %+v", resp.status, p)
	}
	if tried < 12 {
		t.Errorf("only %d calls take a body", tried)
	}
	after := w.contents()
	for table, digest := range before {
		if after[table] != digest {
			t.Errorf("%s has changed", table)
		}
	}
}

// TestR62_NobodyGrantsMoreThanTheirOwnRights tests everything that is forbidden to an administrator who is not a
// super-admin, or to anybody.
func TestR62_NobodyGrantsMoreThanTheirOwnRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	admin, system := w.tokens[identity.RoleOrganizationAdmin], w.tokens[identity.RoleSystemAdmin]
	idOf := func(role identity.Role) string {
		return value[uuid.UUID](w.fixture, `SELECT id FROM users WHERE email = $1`,
			string(role)+"@tsumugi.example").String()
	}
	general, own, super := idOf(identity.RoleGeneralUser), idOf(identity.RoleOrganizationAdmin),
		idOf(identity.RoleOrganizationSuperAdmin)
	edit := func(token, id string, body map[string]any) call {
		return call{method: "PUT", path: "/v1/user/" + id, token: token, body: body}
	}
	invite := func(token, role string) call {
		return call{method: "POST", path: "/v1/user/invite", token: token, body: map[string]any{"users": []any{
			map[string]any{"email": newID() + "@tsumugi.example", "name": "新人", "role": role},
		}}}
	}
	for name, c := range map[string]struct {
		call
		status int
	}{
		"an admin's role by an admin": {
			edit(admin, general, map[string]any{"role": "organization-admin"}),
			403,
		},
		"a super-admin's role by an admin": {edit(admin, general,
			map[string]any{"role": "organization-super-admin"}), 403},
		"their own role": {
			edit(admin, own, map[string]any{"role": "organization-super-admin"}),
			403,
		},
		"a super-admin by an admin":         {edit(admin, super, map[string]any{"name": "x"}), 403},
		"a super-admin removed by an admin": {call{method: "DELETE", path: "/v1/user/" + super, token: admin}, 403},
		"themself removed": {
			call{method: "DELETE", path: "/v1/user/" + super, token: w.super},
			403,
		},
		"themself made inactive":            {edit(w.super, super, map[string]any{"state": "inactive"}), 403},
		"an admin invited by an admin":      {invite(admin, "organization-admin"), 403},
		"a super-admin invited by an admin": {invite(admin, "organization-super-admin"), 403},
		"a system-admin by a super-admin":   {edit(w.super, general, map[string]any{"role": "system-admin"}), 400},
		"a system-admin invited":            {invite(w.super, "system-admin"), 400},
		"a role that is none":               {edit(w.super, general, map[string]any{"role": "root"}), 400},
		"an empty name":                     {edit(w.super, general, map[string]any{"name": " "}), 400},
		"anybody by a system-admin":         {edit(system, general, map[string]any{"name": "x"}), 403},
		"a member of the other one by a super": {edit(w.super, w.stranger.ID.String(),
			map[string]any{"role": "general-user"}), 404},
		"a general user by an admin":       {edit(admin, general, map[string]any{"name": "x"}), 200},
		"an admin's role by a super-admin": {edit(w.super, own, map[string]any{"role": "organization-admin"}), 200},
	} {
		if resp := w.do(c.call); resp.status != c.status {
			t.Errorf("%s: %d %s", name, resp.status, resp.body)
		}
	}
	highest := value[int](w.fixture,
		`SELECT count(*) FROM users WHERE role IN ('organization-super-admin', 'system-admin')`)
	if highest != 3 {
		t.Errorf("there are %d with the highest roles", highest)
	}
}

// TestR62_TheLastTwoSuperAdmins: each of them removes, demotes or disables the other concurrently.
func TestR62_TheLastTwoSuperAdmins(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	against := map[string]func(id uuid.UUID) call{
		"remove": func(id uuid.UUID) call { return call{method: "DELETE", path: "/v1/user/" + id.String()} },
		"demote": func(id uuid.UUID) call {
			return call{method: "PUT", path: "/v1/user/" + id.String(), body: map[string]any{"role": "general-user"}}
		},
		"disable": func(id uuid.UUID) call {
			return call{method: "PUT", path: "/v1/user/" + id.String(), body: map[string]any{"state": "inactive"}}
		},
	}
	round := 0
	for one, first := range against {
		for other, second := range against {
			round++
			f.exec("UPDATE users SET role = 'general-user' WHERE organization_id = $1", f.alice.OrganizationID)
			var pair [2]identity.NewUser
			for i := range pair {
				pair[i] = f.member(f.alice.OrganizationID, fmt.Sprintf("super%d-%d@tsumugi.example", round, i))
			}
			f.exec("UPDATE users SET role = 'organization-super-admin' WHERE id IN ($1, $2)", pair[0].ID, pair[1].ID)
			calls := [2]call{first(pair[1].ID), second(pair[0].ID)}
			var statuses [2]int
			var both sync.WaitGroup
			for i := range calls {
				calls[i].token = pair[i].Subject
				both.Go(func() { statuses[i] = f.do(calls[i]).status })
			}
			both.Wait()
			done := 0
			for _, status := range statuses {
				switch status {
				case http.StatusOK, http.StatusNoContent:
					done++
				case http.StatusConflict, http.StatusForbidden, http.StatusUnauthorized, http.StatusNotFound:
				default:
					t.Errorf("%s and %s: %v", one, other, statuses)
				}
			}
			left := value[int](
				f,
				`SELECT count(*) FROM users WHERE organization_id = $1 AND role = 'organization-super-admin'
					AND state = 'active'`,
				f.alice.OrganizationID,
			)
			if done != 1 || left != 1 {
				t.Errorf("%s and %s: %v, and %d are left", one, other, statuses, left)
			}
		}
	}
}

func TestMembersAreListedAndInvited(t *testing.T) {
	t.Parallel()
	f := newFixtureWith(t, llmtest.Say("はい"), settings{pool: true})
	f.exec("UPDATE users SET role = 'organization-admin', invited_at = now(), last_signed_in_at = now() WHERE id = $1",
		f.alice.ID)
	key := newID()
	invite := call{
		method: "POST", path: "/v1/user/invite", token: f.alice.Subject,
		header: map[string]string{"Idempotency-Key": key}, body: map[string]any{"users": []any{
			map[string]any{"email": "Dora@Tsumugi.example", "name": " 堂本 ドラ ", "role": "general-user"},
			map[string]any{"email": f.bob.Email, "name": "ボブ", "role": "general-user"},
			map[string]any{"email": f.stranger.Email, "name": "キャロル", "role": "general-user"},
		}},
	}
	first := get[api.InvitationList](f, http.StatusOK, invite)
	results := func(l api.InvitationList) (got []string) {
		for _, i := range l.Items {
			got = append(got, i.Email+" "+string(i.Result))
		}
		return got
	}
	want := []string{
		"dora@tsumugi.example invited", "bob@tsumugi.example already_member",
		"carol@other.example unavailable",
	}
	if got := results(first); !slices.Equal(got, want) {
		t.Fatalf("got %v", got)
	}
	if again := get[api.InvitationList](f, http.StatusOK, invite); !slices.Equal(results(again), want) {
		t.Errorf("again: %v", results(again))
	}
	invite.body = map[string]any{"users": []any{map[string]any{
		"email": "other@tsumugi.example", "name": "x",
		"role": "general-user",
	}}}
	if p := f.do(invite).problem(t); p.Code != "request_id_conflict" {
		t.Errorf("another list with the same key: %+v", p)
	}
	invite.header["Idempotency-Key"] = "x"
	if p := f.do(invite).problem(t); p.Status != http.StatusBadRequest || p.Errors[0].Field != "Idempotency-Key" {
		t.Errorf("a malformed key: %+v", p)
	}
	list := func(query string) (names []string, total int) {
		l := get[api.UserList](f, http.StatusOK, call{method: "GET", path: "/v1/user?" + query, token: f.alice.Subject})
		for _, u := range l.Items {
			names = append(names, u.Email)
		}
		slices.Sort(names)
		return names, l.Total
	}
	for query, want := range map[string][]string{
		"":                        {"alice@tsumugi.example", "bob@tsumugi.example", "dora@tsumugi.example"},
		"q=DORA":                  {"dora@tsumugi.example"},
		"state=invited":           {"dora@tsumugi.example"},
		"role=organization-admin": {"alice@tsumugi.example"},
		"state=inactive":          nil,
		"q=carol":                 nil,
	} {
		if got, total := list(query); !slices.Equal(got, want) || total != len(want) {
			t.Errorf("%q: %v of %d", query, got, total)
		}
	}
	if got, total := list("limit=1&offset=1"); len(got) != 1 || total != 3 {
		t.Errorf("a page: %v of %d", got, total)
	}
	for query, field := range map[string]string{
		"role=root": "role", "state=gone": "state", "role=general-user&role=organization-admin": "role",
		"limit=0":                       "limit",
		"q=" + strings.Repeat("a", 101): "q", "q=%00": "q", "q=%ff": "q",
	} {
		resp := f.do(call{method: "GET", path: "/v1/user?" + query, token: f.alice.Subject})
		if p := resp.problem(t); resp.status != http.StatusBadRequest || p.Errors[0].Field != field {
			t.Errorf("%q: %d %+v", query, resp.status, p)
		}
	}
	for query, field := range map[string]string{
		"from=yesterday": "from", "to=2026-04-01": "to",
		"action=" + strings.Repeat("a", 51): "action",
	} {
		resp := f.do(call{method: "GET", path: "/v1/audit?" + query, token: f.alice.Subject})
		if p := resp.problem(t); resp.status != http.StatusBadRequest || p.Errors[0].Field != field {
			t.Errorf("%q: %d %+v", query, resp.status, p)
		}
	}
}

func TestContract(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("繭から"))
	f.exec("UPDATE users SET role = 'organization-admin' WHERE id = $1", f.alice.ID)
	f.exec("UPDATE contracts SET seats = 7, tokens = 1000000, ends_on = '2099-03-31'")
	read := func() api.Contract {
		return get[api.Contract](f, http.StatusOK, call{method: "GET", path: "/v1/contract", token: f.alice.Subject})
	}
	c := read()
	if c.Plan != "スタンダード" || c.Status != "active" || c.Seats != (api.Seats{Limit: 7, Used: 2}) ||
		c.Tokens.Limit != 1_000_000 ||
		c.EndsOn.String() != "2099-03-31" || len(c.Usage) != 30 || c.Tokens.ResetsOn.Day() != 1 {
		t.Errorf("got %+v", c)
	}
	thread := f.thread(f.alice.Subject)
	// Otherwise a title is generated and its tokens are counted.
	f.exec("UPDATE threads SET title = '題' WHERE id = $1", thread.ID)
	answer := get[api.Exchange](f, http.StatusOK, call{
		method: "POST", path: "/v1/message/sync", token: f.alice.Subject,
		body: question(thread.ID.String()),
	}).Answer
	spent := int64(answer.Usage.InputTokens + answer.Usage.OutputTokens)
	if c = read(); c.Tokens.Used != spent || c.Usage[29].Messages != 1 ||
		c.Usage[29].InputTokens+c.Usage[29].OutputTokens != spent {
		t.Errorf("spent %d: %+v", spent, c.Tokens)
	}
	usage := get[api.MemberUsageList](f, http.StatusOK, call{
		method: "GET", path: "/v1/contract/usage/member",
		token: f.alice.Subject,
	})
	if usage.Total != 1 || usage.Items[0].UserID != f.alice.ID || usage.Items[0].Messages != 1 {
		t.Errorf("got %+v", usage)
	}
}

// TestMemberLimitInEveryForm: the calls of the app, of the extension and of OpenAI's form refuse the member in the same
// way, and administrators see the usage by model.
func TestMemberLimitInEveryForm(t *testing.T) {
	t.Parallel()
	f := newFixture(t, llmtest.Say("はい"))
	f.exec(`UPDATE users SET role = 'organization-admin' WHERE id = $1`, f.bob.ID)
	threadID := f.thread(f.alice.Subject).ID.String()
	get[api.DefaultMemberLimit](f, http.StatusOK, call{
		method: "PUT", path: "/v1/member-limit", token: f.bob.Subject, body: map[string]any{"tokens": 5000},
	})
	own := map[string]any{"token_limit": map[string]any{"rule": "own", "tokens": 70}}
	edited := get[api.User](f, http.StatusOK, call{
		method: "PUT", path: "/v1/user/" + f.alice.ID.String(), token: f.bob.Subject, body: own,
	})
	if got := edited.Tokens; got.Rule != "own" || got.Limit == nil || *got.Limit != 70 {
		t.Errorf("the edited member has %+v", got)
	}
	f.exec(`INSERT INTO usage_daily VALUES ($1, (now() AT TIME ZONE 'Asia/Tokyo')::date, $2, 1, 70, 0)`,
		f.alice.OrganizationID, f.alice.ID)
	usage := get[api.OwnUsage](f, http.StatusOK, call{method: "GET", path: "/v1/me/usage", token: f.alice.Subject})
	if usage.TokenLimit == nil || *usage.TokenLimit != 70 || usage.InputTokens != 70 {
		t.Errorf("their own usage is %+v", usage)
	}
	for _, way := range []string{"sync", "async", "stream"} {
		resp := f.do(call{
			method: "POST", path: "/v1/message/" + way, token: f.alice.Subject, body: question(threadID),
		})
		if p := resp.problem(t); resp.status != http.StatusForbidden || p.Code != "member_limit_reached" ||
			!strings.Contains(p.Detail, "70トークン") {
			t.Errorf("%s: %d %s", way, resp.status, resp.body)
		}
	}
	resp := f.do(call{
		method: "POST", path: "/v1/chat/completions", token: f.personalToken(f.alice.Subject, "chat").Token,
		body: map[string]any{
			"model": f.chatSkill().ID.String(), "messages": []any{map[string]any{"role": "user", "content": "質問"}},
		},
	})
	if resp.status != http.StatusForbidden || !strings.Contains(string(resp.body), `"code":"member_limit_reached"`) ||
		!strings.Contains(string(resp.body), `"type":"permission_error"`) {
		t.Errorf("OpenAI's form: %d %s", resp.status, resp.body)
	}
	members := f.csv("/v1/user/csv", f.bob.Subject)
	row := slices.IndexFunc(members, func(row []string) bool { return row[0] == edited.Email })
	if row < 1 || !slices.Equal(members[row][7:], []string{"70", "70"}) ||
		!slices.Equal(members[0][7:], []string{"今月のトークン", "月の上限"}) {
		t.Errorf("members: %q", members)
	}
}
