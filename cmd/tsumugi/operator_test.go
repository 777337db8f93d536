package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/runes"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// operating runs operator commands with an environment.
type operating struct {
	t       *testing.T
	environ []string
}

// on returns an operating with a new database and data folder.
func on(t *testing.T) operating {
	t.Helper()
	return operating{t, []string{"DATABASE_URL=" + storetest.DSN(t), "TSUMUGI_DATA=" + t.TempDir()}}
}

// try runs a command and returns its output.
func (o operating) try(stdin string, args ...string) (string, error) {
	o.t.Helper()
	var out bytes.Buffer
	err := runWithInput(o.t.Context(), args, o.environ, strings.NewReader(stdin), &out, io.Discard)
	return out.String(), err
}

// do runs a command that must succeed, and returns its output.
func (o operating) do(args ...string) string {
	o.t.Helper()
	out, err := o.try("", args...)
	if err != nil {
		o.t.Fatalf("%v: %v", args, err)
	}
	return out
}

// refused runs a command that must fail with an error that contains says.
func (o operating) refused(says string, args ...string) {
	o.t.Helper()
	if out, err := o.try("", args...); err == nil || !strings.Contains(err.Error(), says) {
		o.t.Errorf("%v: %v, not %q\n%s", args, err, says, out)
	}
}

// event is an entry of the audit log.
type event struct {
	Action         string
	OrganizationID *uuid.UUID `json:"organization_id"`
	ActorKind      string     `json:"actor_kind"`
	ActorName      string     `json:"actor_name"`
	TargetLabel    string     `json:"target_label"`
	Details        []struct{ Field, Before, After string }
}

// audit reads the audit log.
func (o operating) audit(args ...string) (events []event) {
	o.t.Helper()
	decoder := json.NewDecoder(strings.NewReader(o.do(append([]string{"audit", "--json"}, args...)...)))
	for {
		var e event
		if err := decoder.Decode(&e); err == io.EOF { //nolint:errorlint // Decode documents an unwrapped io.EOF.
			return events
		} else if err != nil {
			o.t.Fatal(err)
		}
		events = append(events, e)
	}
}

func TestOrganizationsAndContracts(t *testing.T) {
	t.Parallel()
	o := on(t)
	id := strings.TrimSpace(o.do("org", "create", "--name", "紡績株式会社", "--domain", "Example.co.jp",
		"--domain=example.jp",
		"--plan", "ビジネス", "--seats", "3", "--tokens", "500000", "--starts", "2026-12-01"))
	if _, err := uuid.Parse(id); err != nil {
		t.Fatalf("printed %q", id)
	}
	other := strings.TrimSpace(o.do("org", "create", "--name", "ABC"))
	list := o.do("org", "list")
	lines := strings.Split(strings.TrimSpace(list), "\n")
	if len(lines) != 3 || !strings.Contains(list, "example.co.jp example.jp") || !strings.Contains(list, "0/3") ||
		!strings.Contains(list, "0/500000") ||
		!strings.Contains(list, "2026-12-01  -") || !strings.Contains(list, "スタンダード") {
		t.Errorf("the list is\n%s", list)
	}
	// Days are those of Japan.
	deleteAt := func(at *string) {
		t.Helper()
		if _, err := storetest.Pool(t, o.dsn()).Exec(t.Context(),
			`UPDATE organizations SET deletes_at = $1::text::timestamptz WHERE id = $2`, at, other); err != nil {
			t.Fatal(err)
		}
	}
	deleteAt(new("2027-01-31T20:00:00Z"))
	if list := o.do("org", "list"); !strings.Contains(list, "deleted from 2027-02-01") {
		t.Errorf("the list is\n%s", list)
	}
	deleteAt(nil)
	// Columns are aligned on a terminal, whatever characters they contain.
	for _, line := range lines[1:] {
		header, _, _ := strings.Cut(lines[0], "SIGN-IN")
		if before, _, _ := strings.Cut(line, "password "); runes.Columns(before) != runes.Columns(header) {
			t.Errorf("the column begins at %d, not %d, in\n%s", runes.Columns(before), runes.Columns(header), list)
		}
	}
	shown := o.do("contract", "set", "--organization", "紡績株式会社", "--status", "suspended", "--ends", "2027-03-31",
		"--seats", "10")
	for _, part := range []string{"ビジネス", "suspended", "10", "500000", "2026-12-01", "2027-03-31"} {
		if !strings.Contains(shown, part) {
			t.Errorf("the contract lacks %s:\n%s", part, shown)
		}
	}
	if shown := o.do("contract", "set", "--organization", id, "--open"); strings.Contains(shown, "2027") {
		t.Errorf("it still ends:\n%s", shown)
	}
	events := o.audit("--organization", id)
	if len(events) != 3 || events[0].Action != "organization.create" || events[1].Action != "contract.set" ||
		len(events[1].Details) != 3 {
		t.Fatalf("the log has %+v", events)
	}
	account, err := user.Current()
	if err != nil || events[0].ActorKind != "operator" || events[0].ActorName != account.Username ||
		events[0].OrganizationID.String() != id {
		t.Errorf("got %+v, %v", events[0], err)
	}
	if got := o.audit("--action", "organization.create"); len(got) != 2 || got[1].OrganizationID.String() != other {
		t.Errorf("of all organizations: %+v", got)
	}
	if got := o.audit("--limit", "1"); len(got) != 1 || got[0].Action != "contract.set" {
		t.Errorf("the newest: %+v", got)
	}
	if got := o.audit("--to", "2026-01-01"); len(got) != 0 {
		t.Errorf("before everything: %+v", got)
	}
	if shown := o.do("org", "edit", "--organization", id, "--name", "新しい紡績", "--domain",
		"new.example.jp"); !strings.Contains(shown, "新しい紡績") || !strings.Contains(shown, "DOMAINS  new.example.jp") {
		t.Errorf("edited:\n%s", shown)
	}
	o.refused("新しい紡績", "org", "edit", "--organization", other, "--domain", "new.example.jp")
	o.refused("新しい紡績", "org", "create", "--name", "x", "--domain", "NEW.example.jp")
	o.do("org", "edit", "--organization", id, "--no-domains")
	o.do("org", "edit", "--organization", other, "--domain", "new.example.jp")
	if got := o.audit("--organization", id, "--action", "organization.edit"); len(got) != 2 ||
		got[0].Details[1].Before != "example.co.jp example.jp" {
		t.Errorf("the log has %+v", got)
	}
	if text := o.do("audit", "--limit=5"); !strings.Contains(text, "operator "+account.Username) ||
		!strings.Contains(text, "seats: 3 → 10") || !strings.Contains(text, "2 older entries") {
		t.Errorf("the table is\n%s", text)
	}
}

// TestFailedOrganizationLeavesNothing creates an organization without the key for the encrypted secrets in the
// database. The command fails before it stores anything.
func TestFailedOrganizationLeavesNothing(t *testing.T) {
	t.Parallel()
	o := on(t)
	without := o
	o.environ = append(slices.Clone(o.environ), "TSUMUGI_SECRET_KEY="+strings.TrimSpace(o.do("secret", "new")))
	o.do("keys", "rotate")
	create := []string{"org", "create", "--name", "紡", "--super-admin", "a@b.example", "--super-admin-name", "紡"}
	without.refused("TSUMUGI_SECRET_KEY", create...)
	if list := o.do("org", "list"); strings.Contains(list, "紡") {
		t.Errorf("the list is\n%s", list)
	}
	if events := o.audit("--action", "organization.create"); len(events) > 0 {
		t.Errorf("the log has %+v", events)
	}
	o.do(create...)
}

func TestWrongOperationsAreNamed(t *testing.T) {
	t.Parallel()
	o := on(t)
	id := strings.TrimSpace(o.do("org", "create", "--name", "紡"))
	o.do("org", "create", "--name", "同名")
	o.do("org", "create", "--name", "同名")
	for says, args := range map[string][]string{
		"--name":          {"org", "create", "--name", strings.Repeat("長", 101)},
		"--domain":        {"org", "create", "--name", "x", "--domain", "no domain"},
		"--super-admin":   {"org", "create", "--name", "x", "--super-admin", "a@b.example"},
		"no mail address": {"org", "create", "--name", "x", "--super-admin", "nobody", "--super-admin-name", "x"},
		"--seats":         {"org", "create", "--name", "x", "--seats=-1"},
		"--tokens":        {"contract", "set", "--organization", id, "--tokens=-1"},
		"--status":        {"contract", "set", "--organization", id, "--status", "gone"},
		"--starts":        {"contract", "set", "--organization", id, "--starts", "tomorrow"},
		"nothing":         {"contract", "set", "--organization", id},
		"--no-domains":    {"org", "edit", "--organization", id},
		"exclude":         {"contract", "set", "--organization", id, "--open", "--ends", "2027-01-01"},
		"より前にできません。":      {"contract", "set", "--organization", id, "--ends", "2001-01-01"},
		"2 have this":     {"contract", "set", "--organization", "同名", "--seats", "1"},
		"there is none":   {"contract", "set", "--organization", "無い会社", "--seats", "1"},
		"組織が見つかりません":      {"contract", "set", "--organization", uuid.NewString(), "--seats", "1"},
		"--email":         {"user", "create", "--organization", id, "--name", "x", "--email", "nobody"},
		"--role": {
			"user", "create", "--organization", id, "--name", "x", "--email", "a@b.example", "--role",
			"system-admin",
		},
		"SMTP_URL": {
			"user", "create", "--organization", id, "--name", "x", "--email", "a@b.example",
			"--smtp-url", "http://x",
		},
		"Cognito": {
			"user", "create", "--organization", id, "--name", "x", "--email", "a@b.example",
			"--password-stdin", "--cognito-user-pool-id", "ap-northeast-1_X", "--cognito-client-id", "x",
		},
		"standard input": {
			"user", "create", "--organization", id, "--name", "x", "--email", "a@b.example",
			"--password-stdin",
		},
		"メンバーが見つかりません":    {"user", "disable", "--email", "nobody@b.example"},
		"is no time":      {"notification", "publish", "--title", "x", "--at", "tomorrow"},
		"https: or http:": {"notification", "publish", "--title", "x", "--url", "javascript:alert(1)"},
		"--limit":         {"audit", "--limit", "0"},
		"--action":        {"audit", "--action", "member.invit"},
		"--from":          {"audit", "--from", "yesterday"},
		"whose skills":    {"skill", "import", "operator_test.go"},
		"no such file":    {"skill", "import", "--all", "nothing.yaml"},
		"--all":           {"skill", "import", "--all", "--organization", id, "operator_test.go"},
		"mapping values":  {"skill", "import", "--all", "operator_test.go"},
	} {
		o.refused(says, args...)
	}
	misspelt := operating{t, append(o.environ, "TSUMUGI_MAIL_FORM=x")}
	misspelt.refused("TSUMUGI_MAIL_FORM", "org", "list")
	known := operating{t, append(o.environ, "TSUMUGI_MAIL_FROM=a@b.example", "TSUMUGI_LISTEN=:1",
		"TSUMUGI_PUBLIC_URL=https://x.example")}
	known.do("org", "list")
	if _, err := o.try("weak\n", "user", "create", "--organization", id, "--name", "x", "--email", "a@b.example",
		"--password-stdin"); err == nil || !strings.Contains(err.Error(), "パスワードは") {
		t.Errorf("a weak password: %v", err)
	}
}

// TestOperatorsInvite creates an organization with an invited super-admin, and reads the invitation mail.
func TestOperatorsInvite(t *testing.T) {
	t.Parallel()
	o := on(t)
	out := o.do("org", "create", "--name", "紡", "--seats", "2", "--super-admin", "Hanako@example.co.jp",
		"--super-admin-name", "管理 花子", "--public-url", "https://chat.example/")
	for _, part := range []string{
		"宛先：管理 花子 <hanako@example.co.jp>", "仮パスワード：",
		"https://chat.example/login?email=hanako%40example.co.jp",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("printed %s", out)
		}
	}
	_, data, _ := strings.Cut(o.environ[1], "=")
	if mails, err := filepath.Glob(filepath.Join(data, "mail", "*.eml")); err != nil || len(mails) != 1 {
		t.Errorf("mails %v, %v", mails, err)
	}
	o.do("user", "create", "--organization", "紡", "--email", "taro@example.co.jp", "--name", "紡 太郎")
	o.refused("上限", "user", "create", "--organization", "紡", "--email", "jiro@example.co.jp", "--name", "紡 次郎")
	if shown := o.do("user", "reset-factor", "--email", "taro@example.co.jp"); !strings.Contains(shown, "紡 太郎") {
		t.Errorf("got %s", shown)
	}
	if shown := o.do("user", "disable", "--email", "taro@example.co.jp"); !strings.Contains(shown, "inactive") {
		t.Errorf("got %s", shown)
	}
	o.do("user", "create", "--organization", "紡", "--email", "jiro@example.co.jp", "--name", "紡 次郎")
	o.refused("上限", "user", "enable", "--email", "taro@example.co.jp")
	o.refused("すでに", "user", "create", "--organization", "紡", "--email", "jiro@example.co.jp", "--name", "紡 次郎")
	var actions []string
	for _, e := range o.audit() {
		actions = append(actions, e.Action+" "+e.TargetLabel)
	}
	want := "organization.create 紡, user.create hanako@example.co.jp, user.create taro@example.co.jp, " +
		"member.reset_factor taro@example.co.jp, user.disable " +
		"taro@example.co.jp, user.create jiro@example.co.jp"
	if got := strings.Join(actions, ", "); got != want {
		t.Errorf("the log has %s", got)
	}
}

func TestKeysRotateByCommand(t *testing.T) {
	t.Parallel()
	o := on(t)
	out := o.do("keys", "rotate")
	match := regexp.MustCompile(`^Key (\S+) signs from \S+ on`).FindStringSubmatch(out)
	if match == nil {
		t.Fatalf("printed %q", out)
	}
	if events := o.audit("--action", "keys.rotate"); len(events) != 1 || events[0].TargetLabel != match[1] ||
		events[0].OrganizationID != nil {
		t.Errorf("the log has %+v", events)
	}
}

// TestR91_SecretsByCommand encrypts secrets that a server has stored without a key.
func TestR91_SecretsByCommand(t *testing.T) {
	t.Parallel()
	o := on(t)
	key := strings.TrimSpace(o.do("secret", "new"))
	o.do("keys", "rotate")
	o.refused("(TSUMUGI_SECRET_KEY) is missing", "secret", "rotate")
	o.refused("--secret-key", "secret", "rotate", "--secret-key", key[:20])
	o.environ = append(o.environ, "TSUMUGI_SECRET_KEY="+key)
	if out := o.do("secret", "rotate"); !strings.HasPrefix(out, "2 secrets are encrypted with the key ") ||
		!strings.HasSuffix(out, ", 2 of them by this command.\n") || strings.Contains(out, key) {
		t.Errorf("printed %q", out)
	}
	if out := o.do("secret", "rotate"); !strings.Contains(out, "0 of them") {
		t.Errorf("printed %q", out)
	}
	o.do("keys", "rotate")
	if events := o.audit("--action", "secret.rotate"); len(events) != 1 || events[0].OrganizationID != nil {
		t.Errorf("the log has %+v", events)
	}
}

// TestR91_SealedProviderKey checks that the output of secret seal works as a provider's key in the file of
// TSUMUGI_MODELS, and only with the TSUMUGI_SECRET_KEY that sealed it.
func TestR91_SealedProviderKey(t *testing.T) {
	t.Parallel()
	o := operating{t, nil}
	o.refused("TSUMUGI_SECRET_KEY", "secret", "seal")
	key := strings.TrimSpace(o.do("secret", "new"))
	o.environ = []string{"TSUMUGI_SECRET_KEY=" + key}
	o.refused("standard input", "secret", "seal")
	sealed, err := o.try("sk-provider\n", "secret", "seal")
	if err != nil || strings.Contains(sealed, "sk-provider") {
		t.Fatalf("%q %v", sealed, err)
	}
	file := filepath.Join(t.TempDir(), "models.yaml")
	must.Succeed(t, os.WriteFile(file, []byte("default: a\nproviders: [{name: a, base_url: 'http://a.test', api_key: "+
		strings.TrimSpace(sealed)+", models: [{id: a, name: 甲}]}]\n"), 0o600))
	var keys secret.Keyring
	must.Succeed(t, keys.UnmarshalText([]byte(key)))
	c := config{Models: file, sealing: sealing{SecretKey: keys}}
	read, err := c.catalog(nil)
	if err != nil || read.Providers[0].Config.APIKey != "sk-provider" {
		t.Errorf("%+v %v", read, err)
	}
	o.environ = []string{"TSUMUGI_MODELS=" + file, "TSUMUGI_SECRET_KEY=" + strings.TrimSpace(o.do("secret", "new"))}
	o.refused("lacks the key "+keys.String(), "serve")
}

const importedSkills = `
skills:
  - key: pitch
    category: talk
    name: 商談の練習
    description: |-
      お客様の役で受け答えします。
      商談の前にお試しください。
    icon: sparring
    form_type: chat
    suggestions: [値引きを求められたら]
    prompt: あなたは、慎重な購買担当者である。
`

// TestOperatorsReachARunningServer runs commands while a server runs on the data folder.
func TestOperatorsReachARunningServer(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	p := start(t, data)
	o := operating{t, []string{"TSUMUGI_DATA=" + data}}
	const email = "jiro@demo.example"
	if _, err := o.try("Tsumugi-Demo-1\n", "user", "create", "--organization", "デモ株式会社", "--email", email, "--name",
		"紡 次郎", "--password-stdin"); err != nil {
		t.Fatal(err)
	}
	token := p.signIn(t, email)
	path := filepath.Join(t.TempDir(), "skills.yaml")
	must.Succeed(t, os.WriteFile(path, []byte(importedSkills), 0o600))
	count := func() (n int) {
		var skills struct{ Items []struct{ Name string } }
		p.json(t, "GET", "/v1/skill?limit=100", token, nil, &skills)
		for _, s := range skills.Items {
			if s.Name == "商談の練習" {
				n++
			}
		}
		return n
	}
	if out := o.do("skill", "import", path, "--organization", "デモ株式会社", "--dry-run"); !strings.Contains(out, "added") ||
		!strings.Contains(out, "dry run") || count() != 0 {
		t.Errorf("a dry run: %s", out)
	}
	for _, says := range []string{"added", "unchanged"} {
		if out := o.do("skill", "import", path, "--organization", "デモ株式会社"); !strings.Contains(out,
			"pitch  商談の練習  "+says) || count() != 1 {
			t.Errorf("got %s", out)
		}
	}
	o.do("notification", "publish", "--title", "管理者へ", "--audience", "admins", "--organization", "デモ株式会社")
	var notices struct{ Items []struct{ Title string } }
	p.json(t, "GET", "/v1/notification", token, nil, &notices)
	for _, n := range notices.Items {
		if n.Title == "管理者へ" {
			t.Error("a notice for administrators reached a general user")
		}
	}
	if events := o.audit("--action", "notification.publish"); len(events) != 1 || events[0].TargetLabel != "管理者へ" {
		t.Errorf("the log has %+v", events)
	}
	o.do("user", "disable", "--email", email)
	if status := p.json(t, "GET", "/v1/me", token, nil, nil); status != http.StatusUnauthorized {
		t.Errorf("a disabled member: %d", status)
	}
	o.do("user", "enable", "--email", email)
	if status := p.json(t, "GET", "/v1/me", p.signIn(t, email), nil, nil); status != http.StatusOK {
		t.Errorf("an enabled member: %d", status)
	}
}

func TestTableColumns(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	rows := table{{"名前", "N"}, {"ｱｲｳ", "1"}, {"か\u3099", "2"}, {"a\x1b[2J\n\u202eb", "3"}, {"Ａ", "4"}}
	must.Succeed(t, rows.write(&out))
	for line := range strings.SplitSeq(strings.TrimSpace(out.String()), "\n") {
		if runes.Columns(line) != 10 || strings.ContainsAny(line, "\x1b\u202e") {
			t.Errorf("%q has %d columns", line, runes.Columns(line))
		}
	}
}
