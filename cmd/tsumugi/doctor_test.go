package main

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/tsumugi-ai/tsumugi/internal/doctor"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm/llmtest"
	"github.com/tsumugi-ai/tsumugi/internal/secret"
	"github.com/tsumugi-ai/tsumugi/internal/websearch/websearchtest"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/storetest"
	"github.com/tsumugi-ai/tsumugi/stream/bridge/bridgetest"
	fake "github.com/tsumugi-ai/tsumugi/test/fakes/slack"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// hidden is a part of every secret in these tests.
const hidden = "geheim"

// doctorTimeout is longer than a check takes on a busy machine.
const doctorTimeout = "--timeout=5m"

// diagnosis is the output of tsumugi doctor --json.
type diagnosis struct {
	OK     bool
	Checks []doctor.Report
}

// diagnose runs tsumugi doctor and returns its result. It fails the test if the output contains a secret, or if the
// exit status contradicts it.
func (o operating) diagnose(environ ...string) diagnosis {
	o.t.Helper()
	var out bytes.Buffer
	err := run(o.t.Context(), []string{"doctor", "--json", doctorTimeout}, slices.Concat(o.environ, environ), &out, io.Discard)
	if strings.Contains(out.String(), hidden) || err != nil && strings.Contains(err.Error(), hidden) {
		o.t.Errorf("printed a secret: %v\n%s", err, out.String())
	}
	var d diagnosis
	if decodeErr := json.Unmarshal(out.Bytes(), &d); decodeErr != nil {
		o.t.Fatalf("%v: %v\n%s", err, decodeErr, out.String())
	}
	if d.OK != (err == nil) {
		o.t.Errorf("ok is %v, but the error is %v", d.OK, err)
	}
	return d
}

// of returns the reports of a check.
func (d diagnosis) of(id string) (found []doctor.Report) {
	for _, r := range d.Checks {
		if r.ID == id {
			found = append(found, r)
		}
	}
	return found
}

// withoutLatency returns a report without the advice for a slow database, because a busy machine is slow.
func withoutLatency(r doctor.Report) doctor.Report {
	if r.Advice == "It is slow: run the database close to the server." {
		r.State, r.Advice = doctor.OK, ""
	}
	return r
}

// serveHTTP runs a server for a test and returns its URL.
func serveHTTP(t *testing.T, handler http.Handler) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL
}

// serveSMTP runs an SMTP server that accepts or refuses passwords, and returns its address.
func serveSMTP(t *testing.T, reply string) string {
	t.Helper()
	listener := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			text := textproto.NewConn(conn)
			_ = text.PrintfLine("220 mail.test ESMTP")
			for {
				line, err := text.ReadLine()
				if err != nil {
					break
				}
				switch command, _, _ := strings.Cut(line, " "); command {
				case "EHLO":
					_ = text.PrintfLine("250-mail.test\r\n250 AUTH PLAIN")
				case "AUTH":
					_ = text.PrintfLine("%s", reply)
				case "*": // The client gives up.
					_ = text.PrintfLine("501 5.0.0 canceled")
				case "QUIT":
					_ = text.PrintfLine("221 bye")
				default:
					t.Errorf("the server received %q", line)
				}
			}
			_ = text.Close()
		}
	}()
	return listener.Addr().String()
}

// signOn adds an organization with single sign-on, whose identity provider has a certificate that ends at a time.
func signOn(t *testing.T, dsn, name string, end time.Time) {
	t.Helper()
	key := must.Get(rsa.GenerateKey(rand.Reader, 2048))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: end}
	der := must.Get(x509.CreateCertificate(rand.Reader, template, template, key.Public(), key))(t)
	if _, err := storetest.Pool(t, dsn).Exec(t.Context(), `
		WITH o AS (UPDATE organizations SET auth_type = $3 WHERE name = $1 RETURNING id)
		INSERT INTO saml_configs
		SELECT id, 'https://idp.example', 'https://idp.example/sso', ARRAY[$2::bytea], '', '', '{}', now() FROM o`,
		name, der, identity.AuthFederated); err != nil {
		t.Fatal(err)
	}
}

// dsn returns the database of an operating.
func (o operating) dsn() string { return strings.TrimPrefix(o.environ[0], "DATABASE_URL=") }

// TestDoctorOfAWorkingInstallation configures every dependency.
func TestDoctorOfAWorkingInstallation(t *testing.T) {
	t.Parallel()
	o := on(t)
	o.environ = append(o.environ, "TSUMUGI_SECRET_KEY="+secret.NewKey())
	o.do("keys", "rotate")
	o.do("org", "create", "--name", "紡績株式会社", "--domain", "example.co.jp")
	signOn(t, o.dsn(), "紡績株式会社", time.Now().AddDate(1, 0, 0))

	workspace := fake.New(fake.Demo())
	t.Cleanup(workspace.Close)
	slackURL := serveHTTP(t, workspace)
	workspace.SetURL(slackURL)
	model := serveHTTP(t, llmtest.NewHandler(0))
	models := filepath.Join(t.TempDir(), "models.yaml")
	if err := os.WriteFile(models, []byte(`
default: standard
providers:
  - {name: 社内, base_url: "`+model+`/v1", models: [{id: standard, name: 標準}, {id: large, name: 大型, fallback: standard}]}
  - {name: 社外, base_url: "`+model+`/v1", api_key: "${CLOUD_KEY}", models: [{id: cloud, name: クラウド}]}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	font, files := filepath.Join(t.TempDir(), "font.ttf"), t.TempDir()
	must.Succeed(t, os.WriteFile(font, nil, 0o600))
	d := o.diagnose(append(newExternalPool(t).environ(),
		"NATS_URL="+bridgetest.NewCluster(t, 1).URL(0), "BLOB_URL=file://"+files, "TSUMUGI_FONT="+font,
		"TSUMUGI_MODELS="+models, "CLOUD_KEY=sk-"+hidden, "OPENAI_BASE_URL="+model+"/v1",
		"OPENAI_EMBEDDING_MODEL="+llmtest.Embed,
		"TSUMUGI_SEARCH_URL="+serveHTTP(t, websearchtest.New("https://pages.example")),
		"SMTP_URL=smtp://user:"+hidden+"-mail@"+serveSMTP(t, "235 2.7.0 welcome")+"?tls=none",
		"TSUMUGI_MAIL_FROM=no-reply@example.com", "TSUMUGI_PUBLIC_URL=http://localhost:8080",
		"TSUMUGI_AUDIT_OTLP_URL="+serveHTTP(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})),
		"TSUMUGI_AUDIT_OTLP_HEADERS=authorization="+hidden, "TSUMUGI_AUDIT_SYSLOG_URL=tcp://"+serveSMTP(t, ""),
		"SLACK_API_URL="+slackURL+"/api/", "SLACK_BOT_TOKEN="+fake.DemoToken, "SLACK_SIGNING_SECRET="+fake.DemoSecret,
		"HTTPS_PROXY=http://user:"+hidden+"-proxy@proxy.example:3128", "NO_PROXY=localhost, 10.0.0.0/8,.example.com",
	)...)
	var order []string
	for _, r := range d.Checks {
		order = append(order, strings.TrimSpace(r.ID+" "+r.Subject))
		if r = withoutLatency(r); r.State != doctor.OK || r.Found == "not configured" || r.Advice != "" {
			t.Errorf("%+v", r)
		}
	}
	if want := []string{
		"database", "migrations", "secret-key", "disk", "files", "font", "nats", "model standard", "model large",
		"model cloud", "embedding " + llmtest.Embed, "web-search", "mail", "audit OTLP", "audit syslog",
		"slack SLACK_BOT_TOKEN",
		"single-sign-on 紡績株式会社", "cognito", "proxy", "dns",
	}; !slices.Equal(order, want) {
		t.Errorf("checked %q", order)
	}
	if entries, err := os.ReadDir(files); err != nil || len(entries) > 0 {
		t.Errorf("left %v, %v", entries, err)
	}
}

// TestDoctorNamesBrokenDependencies breaks one dependency after the other. The servers that refuse a call repeat its
// secret.
func TestDoctorNamesBrokenDependencies(t *testing.T) {
	t.Parallel()
	refusing := func(t *testing.T, status int) string {
		return serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"error":{"message":"no `+hidden+`-key","type":"`+hidden+`-key"}}`)
		}))
	}
	exec := func(t *testing.T, o operating, sql string) {
		if _, err := storetest.Pool(t, o.dsn()).Exec(t.Context(), sql); err != nil {
			t.Fatal(err)
		}
	}
	for name, broken := range map[string]struct {
		id      string
		state   doctor.State
		advice  string
		prepare func(t *testing.T, o operating) []string // Returns settings.
	}{
		"database": {"database", doctor.Failure, "DATABASE_URL", func(*testing.T, operating) []string {
			return []string{"DATABASE_URL=postgres://tsumugi:" + hidden + "-pw@127.0.0.1:1/tsumugi"}
		}},
		"connections": {"database", doctor.Warning, "pool_max_conns", func(_ *testing.T, o operating) []string {
			separator := "?"
			if strings.Contains(o.dsn(), "?") {
				separator = "&"
			}
			return []string{"DATABASE_URL=" + o.dsn() + separator + "pool_max_conns=5000"}
		}},
		"embedded database": {"database", doctor.Warning, "Start the server", func(*testing.T, operating) []string {
			return []string{"DATABASE_URL="}
		}},
		"newer schema": {"migrations", doctor.Failure, "newer version", func(t *testing.T, o operating) []string {
			exec(t, o, `UPDATE schema_version SET version = 9999`)
			return nil
		}},
		"empty database": {"migrations", doctor.Warning, "tsumugi migrate", func(t *testing.T, o operating) []string {
			exec(t, o, `DROP SCHEMA public CASCADE`)
			exec(t, o, `CREATE SCHEMA public`)
			return nil
		}},
		"other key": {"secret-key", doctor.Failure, "TSUMUGI_SECRET_KEY", func(_ *testing.T, o operating) []string {
			o.environ = append(o.environ, "TSUMUGI_SECRET_KEY="+secret.NewKey())
			o.do("keys", "rotate")
			return []string{"TSUMUGI_SECRET_KEY=" + secret.NewKey()}
		}},
		"plain secrets": {"secret-key", doctor.Warning, "secret rotate", func(_ *testing.T, o operating) []string {
			o.do("keys", "rotate")
			return []string{"TSUMUGI_SECRET_KEY=" + secret.NewKey()}
		}},
		"folder of files": {"files", doctor.Failure, "BLOB_URL", func(*testing.T, operating) []string {
			return []string{"BLOB_URL=file:///dev/null/files"}
		}},
		"font": {"font", doctor.Failure, "TSUMUGI_FONT", func(*testing.T, operating) []string {
			return []string{"TSUMUGI_FONT=/nowhere/font.ttf"}
		}},
		"NATS": {"nats", doctor.Failure, "NATS_URL", func(*testing.T, operating) []string {
			return []string{"NATS_URL=nats://user:" + hidden + "-nats@127.0.0.1:1"}
		}},
		"no JetStream": {"nats", doctor.Failure, "JetStream is enabled", func(t *testing.T, _ operating) []string {
			nats := must.Get(natsserver.NewServer(&natsserver.Options{
				Host: "127.0.0.1", Port: natsserver.RANDOM_PORT, NoSigs: true,
			}))(t)
			nats.Start()
			t.Cleanup(nats.Shutdown)
			return []string{"NATS_URL=" + nats.ClientURL()}
		}},
		"model's key": {"model", doctor.Failure, "API key", func(t *testing.T, _ operating) []string {
			return []string{
				"OPENAI_API_KEY=" + hidden + "-key", "OPENAI_BASE_URL=" + refusing(t, http.StatusUnauthorized),
			}
		}},
		"models file": {"model", doctor.Failure, "TSUMUGI_MODELS", func(*testing.T, operating) []string {
			return []string{"TSUMUGI_MODELS=doctor_test.go"}
		}},
		"embedding model": {"embedding", doctor.Failure, "base URL", func(t *testing.T, _ operating) []string {
			return []string{
				"OPENAI_API_KEY=" + hidden + "-key", "OPENAI_BASE_URL=" + refusing(t, http.StatusNotFound),
				"OPENAI_EMBEDDING_MODEL=" + llmtest.Embed,
			}
		}},
		"web search": {"web-search", doctor.Failure, "TSUMUGI_SEARCH_KEY", func(t *testing.T, _ operating) []string {
			return []string{
				"TSUMUGI_SEARCH_PROVIDER=brave", "TSUMUGI_SEARCH_KEY=" + hidden + "-key",
				"TSUMUGI_SEARCH_URL=" + refusing(t, http.StatusForbidden),
			}
		}},
		"mail": {"mail", doctor.Failure, "SMTP_URL", func(t *testing.T, _ operating) []string {
			return []string{
				"TSUMUGI_MAIL_FROM=no-reply@example.com",
				"SMTP_URL=smtp://user:" + hidden + "%40mail@" + serveSMTP(t, "535 5.7.8 not "+hidden+"@mail") +
					"?tls=none",
			}
		}},
		"audit log": {"audit", doctor.Failure, "TSUMUGI_AUDIT_OTLP_HEADERS", func(t *testing.T, _ operating) []string {
			return []string{
				"TSUMUGI_AUDIT_OTLP_URL=" + refusing(t, http.StatusUnauthorized),
				"TSUMUGI_AUDIT_OTLP_HEADERS=authorization=" + hidden + "-key",
			}
		}},
		"Slack": {"slack", doctor.Failure, "tsumugi slack test", func(t *testing.T, _ operating) []string {
			workspace := fake.New(fake.Demo())
			t.Cleanup(workspace.Close)
			url := serveHTTP(t, workspace)
			workspace.SetURL(url)
			return []string{
				"SLACK_API_URL=" + url + "/api/", "SLACK_BOT_TOKEN=xoxb-" + hidden,
				"SLACK_SIGNING_SECRET=" + hidden + "-signing",
			}
		}},
		"expired certificate": {"single-sign-on", doctor.Failure, "expired", func(t *testing.T, o operating) []string {
			o.do("org", "create", "--name", "紡", "--domain", "example.co.jp")
			signOn(t, o.dsn(), "紡", time.Now().AddDate(0, 0, -1))
			return nil
		}},
		"old certificate": {"single-sign-on", doctor.Warning, "metadata", func(t *testing.T, o operating) []string {
			o.do("org", "create", "--name", "紡", "--domain", "example.co.jp")
			signOn(t, o.dsn(), "紡", time.Now().AddDate(0, 0, 29))
			return nil
		}},
		"metadata": {"single-sign-on", doctor.Warning, "the address of the metadata", func(t *testing.T, o operating) []string {
			o.do("org", "create", "--name", "紡", "--domain", "example.co.jp")
			signOn(t, o.dsn(), "紡", time.Now().AddDate(1, 0, 0))
			exec(t, o, `UPDATE saml_configs SET metadata_url = '`+refusing(t, http.StatusForbidden)+`'`)
			return []string{"TSUMUGI_IDENTITY_HOSTS=127.0.0.1"}
		}},
		"user pool": {"cognito", doctor.Failure, "COGNITO_REGION", func(t *testing.T, _ operating) []string {
			return []string{
				"COGNITO_USER_POOL_ID=" + elsewhereID, "COGNITO_CLIENT_ID=" + elsewhereClient,
				"COGNITO_ENDPOINT=" + refusing(t, http.StatusNotFound),
			}
		}},
		"proxy": {"proxy", doctor.Failure, "form http://host:port", func(*testing.T, operating) []string {
			return []string{"https_proxy=http://user:" + hidden + "-proxy@:3128"}
		}},
		"proxy that resolves names": {"proxy", doctor.Warning, "refuse internal", func(*testing.T, operating) []string {
			return []string{
				"HTTPS_PROXY=http://user:" + hidden + "-proxy@proxy.example:3128", "TSUMUGI_PROXY_RESOLVES=true",
			}
		}},
		"exceptions from the proxy": {"proxy", doctor.Failure, "CIDR", func(*testing.T, operating) []string {
			return []string{"NO_PROXY=10.0.0.0/99"}
		}},
		"host name": {"dns", doctor.Failure, "spelling", func(*testing.T, operating) []string {
			return []string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://collector.invalid:4318"}
		}},
		"public host name": {"dns", doctor.Warning, "network of the users", func(*testing.T, operating) []string {
			return []string{"TSUMUGI_PUBLIC_URL=https://chat.invalid"}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := on(t)
			d := o.diagnose(broken.prepare(t, o)...)
			found := d.of(broken.id)
			if len(found) != 1 || found[0].State != broken.state || !strings.Contains(found[0].Advice, broken.advice) {
				t.Errorf("%s: %+v", broken.id, found)
			}
			if d.OK != (broken.state != doctor.Failure) {
				t.Errorf("ok is %v: %+v", d.OK, d.Checks)
			}
			if broken.id == "database" {
				return
			}
			if database := withoutLatency(d.of("database")[0]); database.State != doctor.OK {
				t.Errorf("%+v", database)
			}
		})
	}
}

// TestDoctorWithTheEmbeddedDatabase uses the database of a running server. Without one, it creates nothing.
func TestDoctorWithTheEmbeddedDatabase(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	o := operating{t, []string{"TSUMUGI_DATA=" + data}}
	if d := o.diagnose(); !d.OK || d.of("migrations")[0].State != doctor.Warning ||
		!strings.HasSuffix(d.of("database")[0].Found, " is not running on the data folder "+data) {
		t.Errorf("%+v", d)
	}
	if _, err := os.Stat(data); !os.IsNotExist(err) {
		t.Errorf("the folder was created: %v", err)
	}
	start(t, data)
	d := o.diagnose()
	for _, id := range []string{"database", "migrations", "files"} {
		if r := withoutLatency(d.of(id)[0]); r.State != doctor.OK {
			t.Errorf("%+v", r)
		}
	}
}

func TestDoctorSpeaksJapanese(t *testing.T) {
	t.Parallel()
	o := on(t)
	for _, test := range []struct {
		environ  []string
		args     []string
		japanese bool
	}{
		{environ: []string{"LANG=ja_JP.UTF-8"}, japanese: true},
		{environ: []string{"LANG=C", "LC_ALL=ja_JP.UTF-8"}, japanese: true},
		{environ: []string{"LANG=C"}, args: []string{"--lang=ja"}, japanese: true},
		{environ: []string{"LANG=ja_JP.UTF-8", "LC_ALL=C"}},
		{environ: []string{"LANG=ja_JP.UTF-8"}, args: []string{"--lang=en"}},
		{},
	} {
		o := operating{t, slices.Concat(o.environ, test.environ, []string{"TSUMUGI_FONT=/nowhere"})}
		out, err := o.try("", append([]string{"doctor", doctorTimeout}, test.args...)...)
		failed := "checks failed"
		parts := []string{
			"  database         PostgreSQL", "ok       NATS ", "not configured", "failure  font ", " → Check TSUMUGI_FONT.",
		}
		if test.japanese {
			failed = "件中1件に異常があります"
			parts = []string{"  データベース        PostgreSQL", "正常  NATS ", "未設定", "異常  日本語フォント ", " → TSUMUGI_FONTを確認してください。"}
		}
		if err == nil || !strings.Contains(err.Error(), failed) {
			t.Errorf("%+v: %v", test, err)
		}
		for _, part := range parts {
			if !strings.Contains(out, part) {
				t.Errorf("%+v: no %q in\n%s", test, part, out)
			}
		}
	}
}

func TestUnsuitableDatabasesAreReported(t *testing.T) {
	t.Parallel()
	good := store.Health{Version: "15.18", Major: 15, Latency: time.Millisecond, FreeConns: 97, NeededConns: 22}
	old, slow, behind, all := good, good, good, good
	old.Major, all.Major = 14, 14
	slow.Latency, all.Latency = time.Second, time.Second
	behind.ClockOffset, all.ClockOffset = -time.Minute, -time.Minute
	for name, test := range map[string]struct {
		health store.Health
		state  doctor.State
		advice []string
	}{
		"good":   {good, doctor.OK, nil},
		"old":    {old, doctor.Failure, []string{"Upgrade to PostgreSQL 15"}},
		"slow":   {slow, doctor.Warning, []string{"close to the server"}},
		"behind": {behind, doctor.Warning, []string{"NTP"}},
		"all":    {all, doctor.Failure, []string{"Upgrade to PostgreSQL 15", "close to the server", "NTP"}},
	} {
		r := databaseResult(test.health)
		if r.State != test.state || (r.Advice.EN == "") != (len(test.advice) == 0) {
			t.Errorf("%s: %+v", name, r)
		}
		for _, advice := range test.advice {
			if !strings.Contains(r.Advice.EN, advice) {
				t.Errorf("%s: %+v", name, r)
			}
		}
	}
}

func TestLittleSpaceIsReported(t *testing.T) {
	t.Parallel()
	for free, want := range map[uint64]doctor.State{
		100 << 20: doctor.Failure, 1 << 30: doctor.Warning, 10 << 30: doctor.OK,
	} {
		if r := spaceResult("/data", free); r.State != want || (r.Advice.JA == "") != (want == doctor.OK) {
			t.Errorf("%d: %+v", free, r)
		}
	}
}
