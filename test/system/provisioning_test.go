package system_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

// scimUser is a user of SCIM in the responses.
type scimUser struct {
	ID     string
	Active bool
}

// scimList is a list of SCIM.
type scimList struct {
	TotalResults int
	Resources    []scimUser
}

// leaver is a member with a stream, a live socket and a personal access token, each at another server.
type leaver struct {
	*client
	personal *client
	thread   string
	ended    chan time.Time // Receives the times at which the stream and the socket end.
}

// provider is an identity provider that provisions members by SCIM.
type provider struct{ *client }

func newProvider(t *testing.T, r *rig) provider {
	t.Helper()
	admin := signInAs(t, r.URL(), demoAdministrator)
	var token struct{ Token string }
	must.Succeed(t, admin.call(t.Context(), http.MethodPost, r.URL()+"/v1/scim-config/token", map[string]string{"name": "IdP"},
		&token))
	return provider{&client{http: admin.http, token: token.Token}}
}

// activate sets a user's attribute active.
func (p provider) activate(t *testing.T, user string, active bool) {
	t.Helper()
	var changed scimUser
	must.Succeed(t, p.call(t.Context(), http.MethodPatch, user, map[string]any{
		"schemas":    []string{"urn:ietf:params:scim:api:messages:2.0:PatchOp"},
		"Operations": []any{map[string]any{"op": "replace", "path": "active", "value": active}},
	}, &changed))
	if changed.Active != active {
		t.Errorf("changed to %+v", changed)
	}
}

// TestTenThousandUsersAreProvisioned provisions the last 600 of ten thousand users through three servers; the others are
// in the database before. It deactivates 100 of them, who follow an answer, have a live socket and use a personal access
// token at different servers. All of these end at once. A reactivated member signs in again, and has the same threads.
func TestTenThousandUsersAreProvisioned(t *testing.T) {
	t.Parallel()
	const users, added, leavers, workers = 10_000, 600, 100, 8
	r := newRig(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), 2*waitLimit)
	defer cancel()
	conn := must.Get(pgx.Connect(ctx, r.DSN()))(t)
	defer conn.Close(ctx)
	exec := func(sql string, args ...any) {
		t.Helper()
		must.Get(conn.Exec(ctx, sql, args...))(t)
	}
	exec(`UPDATE contracts SET seats = $1`, 2*users)
	exec(provisionedSQL, demoUser, added, users-1)
	exec(`ANALYZE`) // As autovacuum does, which is off. Plans for small tables are slow for large ones.
	provider := newProvider(t, r)

	began, created, next := time.Now(), make([]scimUser, added), atomic.Int64{}
	var work sync.WaitGroup
	for range workers {
		work.Go(func() {
			for n := int(next.Add(1)) - 1; n < added && !t.Failed(); n = int(next.Add(1)) - 1 {
				if err := provider.call(ctx, http.MethodPost, r.at(n%3)()+"/scim/v2/Users", map[string]any{
					"schemas":  []string{"urn:ietf:params:scim:schemas:core:2.0:User"},
					"userName": provisioned(n), "externalId": fmt.Sprint(n), "displayName": fmt.Sprintf("社員 %d", n),
					"active": true, "emails": []any{map[string]any{"type": "work", "value": provisioned(n), "primary": true}},
				}, &created[n]); err != nil {
					t.Errorf("user %d: %v", n, err)
				}
			}
		})
	}
	join(ctx, t, &work)
	t.Logf("provisioned in %v", time.Since(began).Round(time.Second))
	var all, one scimList
	must.Succeed(t, provider.call(ctx, http.MethodGet, r.URL()+"/scim/v2/Users?count=0", nil, &all))
	must.Succeed(t, provider.call(ctx, http.MethodGet, r.URL()+"/scim/v2/Users?filter="+
		url.QueryEscape(fmt.Sprintf("userName eq %q", provisioned(added-1))), nil, &one))
	if all.TotalResults != users+2 || one.TotalResults != 1 || one.Resources[0].ID != created[added-1].ID {
		t.Fatalf("listed %+v and %+v", all, one)
	}

	exec(`UPDATE users SET auth_type = 'cognito' WHERE email LIKE 'member%'`)
	exec(`UPDATE pool_users p SET status = 'CONFIRMED', email_verified = true, password_hash = d.password_hash
		FROM pool_users d WHERE d.email = $1 AND p.email LIKE 'member%'`, demoUser)
	people := make([]*leaver, leavers)
	for n := range people {
		people[n] = r.join(ctx, t, n)
	}
	set := func(n int, active bool) {
		t.Helper()
		provider.activate(t, r.at((n+2)%3)()+"/scim/v2/Users/"+created[n].ID, active)
	}
	var took []time.Duration
	for n, who := range people {
		sent := time.Now()
		set(n, false)
		for range r.Len() {
			for _, c := range []*client{who.client, who.personal} {
				if err := c.call(ctx, http.MethodGet, r.URL()+"/v1/me", nil, nil); !isProblem(err, http.StatusUnauthorized) {
					t.Errorf("a call of member %d: %v", n, err)
				}
			}
		}
		for range cap(who.ended) {
			select {
			case at := <-who.ended:
				took = append(took, at.Sub(sent))
			case <-ctx.Done():
				t.Fatal("a stream or a socket has not ended")
			}
		}
	}
	slices.Sort(took)
	p99 := took[len(took)*99/100]
	t.Logf("streams and sockets ended after %v (median) and %v (p99)", took[len(took)/2], p99)
	if p99 > 5*time.Second { // 19 ms on an idle machine; the goal is 1 s.
		t.Errorf("streams and sockets ended after %v (p99)", p99)
	}

	set(0, true)
	back := signInAs(t, r.URL(), provisioned(0))
	must.Succeed(t, back.call(ctx, http.MethodGet, r.URL()+"/v1/thread/"+people[0].thread, nil, nil))
	if err := people[0].call(ctx, http.MethodGet, r.URL()+"/v1/me", nil, nil); !isProblem(err, http.StatusUnauthorized) {
		t.Errorf("a call of the earlier session: %v", err)
	}
}

// provisionedSQL adds users $2 to $3 to the organization of member $1, as their provisioning does.
const provisionedSQL = `
	WITH new_users AS (
		SELECT gen_random_uuid() AS id, gen_random_uuid() AS sub, n, 'member' || n || '@demo.example' AS email,
		       '社員 ' || n AS name, organization_id
		FROM users, generate_series($2::integer, $3::integer) n
		WHERE users.email = $1
	), new_accounts AS (
		INSERT INTO pool_users (sub, email, email_verified, name, status, created_at, updated_at)
		SELECT sub, email, true, name, 'EXTERNAL_PROVIDER', now(), now() FROM new_users
	), new_members AS (
		INSERT INTO users (id, organization_id, subject, email, name, role, auth_type)
		SELECT id, organization_id, sub::text, email, name, 'general-user', 'federated_idp' FROM new_users
	)
	INSERT INTO scim_users (organization_id, user_id, user_name, external_id, emails, attributes)
	SELECT organization_id, id, email, n::text, ARRAY[email], '{}' FROM new_users`

// provisioned returns the address of a user.
func provisioned(n int) string { return fmt.Sprintf("member%d@demo.example", n) }

// join signs a member in and opens a stream and a live socket.
func (r *rig) join(ctx context.Context, t *testing.T, n int) *leaver {
	t.Helper()
	l := &leaver{client: signInAs(t, r.at(n%3)(), provisioned(n)), ended: make(chan time.Time, 2)}
	var token struct{ Token string }
	must.Succeed(t, l.call(ctx, http.MethodPost, r.URL()+"/v1/connection/token", map[string]any{
		"name": "export", "scopes": []string{"chat"}, "request_id": newID(),
		"expires_on": time.Now().AddDate(0, 1, 0).Format(time.DateOnly),
	}, &token))
	l.personal = &client{http: l.http, token: token.Token}
	a := l.askMany(t, r.at(n%3)(), 1, answer{chars: 8000, rate: 2, seed: uint64(n)})[0] //nolint:gosec // Small.
	l.thread = a.ThreadID
	req := must.Get(l.newRequest(ctx, http.MethodGet, r.at((n+1)%3)()+"/v1/message/"+a.Answer.ID+"/stream", nil))(t)
	resp := must.Get(l.http.Do(req))(t) //nolint:bodyclose // Closed by the goroutine below.
	if resp.StatusCode != http.StatusOK {
		t.Fatal("the stream of a member: ", readProblem(resp))
	}
	go func() {
		defer resp.Body.Close()
		text, _ := io.ReadAll(resp.Body) // It is cut.
		if strings.Contains(string(text), "[DONE]") {
			t.Errorf("the answer of member %d is complete", n)
		}
		l.ended <- time.Now()
	}()
	socket := l.listen(ctx, t, r.at((n+2)%3)())
	go func() {
		for range socket.frames { //nolint:revive // Until it ends.
		}
		l.ended <- time.Now()
	}()
	return l
}
