package main

import (
	"bufio"
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/backup"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// leaver is an installation with two organizations. The demo organization leaves.
type leaver struct {
	*installation
	id      string   // Of the organization.
	needles []string // Ids, addresses and texts of the organization.
	other   string   // Id of the other organization.
}

const demoName = "デモ株式会社"

// newLeaver returns an installation whose organizations have rows in most tables.
func newLeaver(t *testing.T) *leaver {
	t.Helper()
	l := &leaver{installation: newInstallation(t)}
	l.other = strings.TrimSpace(l.do("org", "create", "--name", "残る会社", "--domain", "other.example"))
	p := start(t, l.data, l.environ...)
	token := p.signIn(t, "user@demo.example")
	var me struct{ Organization struct{ ID string } }
	p.json(t, "GET", "/v1/me", token, nil, &me)
	l.id = me.Organization.ID
	var messages struct{ Items []struct{ ID, Role string } }
	p.json(t, "GET", "/v1/message?thread_id="+l.thread, token, nil, &messages)
	answer := messages.Items[0].ID
	for _, call := range []struct {
		method, path string
		body         any
	}{
		{"PUT", "/v1/thread/" + l.thread + "/share", map[string]any{"leaf": answer}},
		{"POST", "/v1/message_feedback", map[string]any{"message_id": answer, "rating": "good"}},
		{"PUT", "/v1/guidance/about", map[string]any{"name": "太郎", "department": "", "tone": "", "signature": ""}},
		{"POST", "/v1/connection/token", map[string]any{
			"request_id": uuid.NewString(), "name": "集計", "scopes": []string{"chat"}, "expires_on": time.Now().AddDate(0, 1, 0).Format(time.DateOnly),
		}},
	} {
		if status := p.json(t, call.method, call.path, token, call.body, nil); status >= http.StatusBadRequest {
			t.Fatalf("%s: %d", call.path, status)
		}
	}
	must.Succeed(t, p.end(t, os.Interrupt))
	pool := storetest.Pool(t, l.dsn)
	if _, err := pool.Exec(t.Context(), `INSERT INTO users (id, organization_id, subject, email, name, role)
		VALUES (gen_random_uuid(), $1, 'other', 'a@other.example', '残る人', 'organization-super-admin')`, l.other); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{l.id, l.other} { // Rows that need several calls of the API.
		for _, sql := range []string{
			`INSERT INTO saml_configs VALUES ($1, 'idp', 'https://idp.example', '{"\\x30"}', '', '', '{}', now())`,
			`INSERT INTO saml_tests (id, organization_id, status, created_at) VALUES (gen_random_uuid(), $1, 'failed', now())`,
			`INSERT INTO channel_installations (id, organization_id, surface, source, credentials)
			 VALUES (gen_random_uuid(), $1, 'slack', 'stored', 'geheim')`,
			`INSERT INTO channel_events (installation_id, organization_id, event_id, channel, message, lane, payload, due_at)
			 SELECT id, organization_id, 'E', 'C', '', '', '{}', 'infinity' FROM channel_installations WHERE organization_id = $1`,
			`INSERT INTO categories (id, organization_id, name, position) VALUES (gen_random_uuid(), $1, '自社の分類', 100)`,
			`INSERT INTO skills (id, organization_id, category_id, position, name, icon_path, form_type, prompt, origin)
			 SELECT gen_random_uuid(), $1, id, 1, '自社のスキル', '/x.svg', 'chat', '指示', 'app' FROM categories WHERE organization_id = $1`,
			`INSERT INTO skill_documents (organization_id, skill_id, data_source_id, place)
			 SELECT $1, s.id, d.id, 1 FROM skills s JOIN data_sources d USING (organization_id) WHERE s.organization_id = $1`,
			`INSERT INTO audit_events (id, organization_id, actor_kind, action) VALUES (gen_random_uuid(), $1, 'system', 'x')`,
		} {
			if _, err := pool.Exec(t.Context(), sql, id); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
	}
	l.needles = append(l.values(`SELECT u.id::text FROM users u WHERE organization_id = $1
		UNION ALL SELECT subject FROM users WHERE organization_id = $1`, l.id),
		l.id, l.file, l.picture, l.thread, "user@demo.example", "admin@demo.example", question, "自社のスキル "+l.id)
	return l
}

// values reads one column.
func (l *leaver) values(sql string, args ...any) []string {
	l.t.Helper()
	rows := must.Get(storetest.Pool(l.t, l.dsn).Query(l.t.Context(), sql, args...))(l.t)
	found := must.Get(pgx.CollectRows(rows, pgx.RowTo[string]))(l.t)
	return found
}

// rowsWith returns the rows of all tables that contain a text, by table.
func (l *leaver) rowsWith(text string) map[string]string {
	found := make(map[string]string)
	for name, rows := range contents(l.t, l.dsn) {
		for row := range strings.Lines(rows) {
			if strings.HasPrefix(name, "table ") && strings.Contains(row, text) {
				found[name] += row
			}
		}
	}
	return found
}

// await waits until a server has made the result of a query empty.
func (l *leaver) await(sql string) {
	l.t.Helper()
	for tick := time.NewTicker(20 * time.Millisecond); len(l.values(sql, l.id)) > 0; {
		select {
		case <-tick.C:
		case <-l.t.Context().Done():
			l.t.Fatalf("not empty: %s", sql)
		}
	}
}

// TestOrganizationIsExported compares an export with the manifest, the API and the uploaded files.
func TestOrganizationIsExported(t *testing.T) {
	t.Parallel()
	l := newLeaver(t)
	target := filepath.Join(t.TempDir(), "export")
	if out := l.do("org", "export", demoName, target); !strings.Contains(out, "2 files") {
		t.Error(out)
	}
	l.refused("empty", "org", "export", l.id, target)
	got := tree(t, target)
	var manifest backup.ExportManifest
	must.Succeed(t, json.Unmarshal([]byte(got["manifest.json"]), &manifest))
	objects := slices.Concat(manifest.Files, manifest.Guides)
	records := make(map[string][]map[string]any)
	for _, r := range manifest.Records {
		objects = append(objects, r.ExportedObject)
		for line := bufio.NewScanner(strings.NewReader(got[r.Path])); line.Scan(); {
			var record map[string]any
			if err := json.Unmarshal(line.Bytes(), &record); err != nil {
				t.Fatalf("%s: %v", r.Path, err)
			}
			records[r.Kind] = append(records[r.Kind], record)
		}
		if len(records[r.Kind]) != r.Count {
			t.Errorf("%s has %d records, the manifest says %d", r.Path, len(records[r.Kind]), r.Count)
		}
	}
	for _, o := range objects {
		if content := got[o.Path]; int64(len(content)) != o.Size || sha256.Sum256([]byte(content)) != o.SHA256 {
			t.Errorf("%s differs from the manifest", o.Path)
		}
	}
	if len(objects)+1 != len(got) || manifest.Organization.Name != demoName {
		t.Errorf("%d objects of %d, %+v", len(objects), len(got), manifest.Organization)
	}
	all := strings.Join(slices.Collect(maps.Values(got)), "\n")
	for _, secret := range []string{"geheim", "argon2", "PRIVATE KEY", "sealed.v1", "password_hash", l.other} {
		if strings.Contains(all, secret) {
			t.Errorf("the export contains %q", secret)
		}
	}

	p := start(t, l.data, l.environ...)
	token := p.signIn(t, "user@demo.example")
	for path, kind := range map[string]string{
		"/v1/thread": "threads", "/v1/message?thread_id=" + l.thread: "messages", "/v1/data-source": "files",
	} {
		var list struct{ Items []map[string]any }
		p.json(t, "GET", path, token, nil, &list)
		if len(list.Items) == 0 || len(list.Items) != len(records[kind]) {
			t.Errorf("the API has %d %s, the export %d", len(list.Items), kind, len(records[kind]))
		}
		for _, want := range list.Items {
			i := slices.IndexFunc(records[kind], func(r map[string]any) bool { return r["id"] == want["id"] })
			if i < 0 {
				t.Errorf("%s lacks %v", kind, want["id"])
				continue
			}
			for _, field := range []string{"title", "role", "content", "parent_id", "model", "status", "filename", "size", "sha256"} {
				if want[field] != nil && want[field] != records[kind][i][field] {
					t.Errorf("%s of %s is %v, not %v", field, kind, records[kind][i][field], want[field])
				}
			}
		}
	}
	file := records["files"][0]
	sum := sha256.Sum256([]byte(fileText))
	if got[file["path"].(string)] != fileText || file["sha256"] != hex.EncodeToString(sum[:]) ||
		!strings.HasPrefix(got[records["pictures"][0]["path"].(string)], "\x89PNG") {
		t.Errorf("the files are not those that were uploaded: %v", file)
	}
	if len(records["members"]) != 2 || len(records["shares"]) != 1 || len(records["feedback"]) != 1 {
		t.Errorf("%d members, %d shares, %d ratings", len(records["members"]), len(records["shares"]), len(records["feedback"]))
	}
}

// TestOrganizationIsDeleted locks an organization, cancels that, and deletes it. Nothing is left of it, another
// organization is unchanged, and the certificate is valid.
func TestOrganizationIsDeleted(t *testing.T) {
	t.Parallel()
	l := newLeaver(t)
	p := start(t, l.data, l.environ...)
	token := p.signIn(t, "user@demo.example")
	l.do("org", "delete", l.id)
	l.do("org", "delete", l.id) // Changes nothing.
	if list := l.do("org", "list"); strings.Count(list, "deleted from 20") != 1 {
		t.Error(list)
	}
	if status := p.json(t, "GET", "/v1/me", token, nil, nil); status != http.StatusUnauthorized {
		t.Errorf("a member of a locked organization got %d", status)
	}
	l.refused(demoName+" is deleted from", "org", "certificate", l.id)
	l.do("org", "delete", l.id, "--cancel")
	if status := p.json(t, "GET", "/v1/me", token, nil, nil); status != http.StatusOK {
		t.Errorf("after the cancellation, a member got %d", status)
	}
	l.refused("not requested", "org", "delete", l.id, "--cancel")
	l.refused("is not the name", "org", "delete", l.id, "--now", "--confirm", "別の会社")
	key := p.get(t, "/.well-known/tsumugi-signing-key")
	must.Succeed(t, p.end(t, os.Interrupt))
	others := l.rowsWith(l.other)
	l.do("org", "delete", l.id, "--now", "--confirm", demoName)
	if events := l.audit("--action", "organization.delete"); len(events) != 3 || events[2].TargetLabel != demoName ||
		events[2].OrganizationID != nil {
		t.Errorf("the log has %+v", events)
	}

	// A server begins each of these when it starts.
	for _, rest := range []string{
		`SELECT name FROM organizations WHERE id::text = $1`,
		`SELECT id::text FROM loose_files WHERE organization_id::text = $1
		 UNION ALL SELECT user_id::text FROM account_changes WHERE organization_id::text = $1`,
		`SELECT name FROM organization_deletions WHERE id::text = $1 AND certificate IS NULL`,
	} {
		p := start(t, l.data, l.environ...)
		l.await(rest)
		must.Succeed(t, p.end(t, os.Interrupt))
	}
	for _, needle := range l.needles {
		for name, rows := range l.rowsWith(needle) {
			if name != "table organization_deletions" && !strings.Contains(rows, "organization.delete") {
				t.Errorf("%s still contains %s: %s", name, needle, rows)
			}
		}
	}
	if files := tree(t, filepath.Join(l.data, "files")); len(files) > 0 {
		t.Errorf("files are left: %v", slices.Collect(maps.Keys(files)))
	}
	if got := l.rowsWith(l.other); !maps.Equal(got, others) || len(got) < 8 {
		t.Errorf("the other organization had %v, and has %v", others, got)
	}
	l.refused("there is none", "org", "delete", demoName)

	var signed struct {
		Certificate json.RawMessage
		Signature   []byte
	}
	text := l.do("org", "certificate", l.id)
	must.Succeed(t, json.Unmarshal([]byte(text), &signed))
	var compact bytes.Buffer
	must.Succeed(t, json.Compact(&compact, signed.Certificate))
	block, _ := pem.Decode([]byte(key))
	public, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil || !ed25519.Verify(public.(ed25519.PublicKey), compact.Bytes(), signed.Signature) {
		t.Errorf("the signature is not valid: %v\n%s", err, text)
	}
	for _, part := range []string{l.id, demoName, `"members": 2`, `"messages": 2`, `"files": 1`, `"pictures": 1`} {
		if !strings.Contains(text, part) {
			t.Errorf("the certificate lacks %s: %s", part, text)
		}
	}
}

// get returns the content of a path without authentication.
func (p *process) get(t *testing.T, path string) string {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, p.address+path, nil))(t)
	resp := must.Get(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(fmt.Errorf("%s: %d %w", path, resp.StatusCode, err))
	}
	return string(content)
}
