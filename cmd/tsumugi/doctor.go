package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/doctor"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/postgres"
)

type doctorCommand struct {
	config `embed:""`
	Lang   string `enum:"ja,en," default:"" placeholder:"LANGUAGE" help:"Language of the results: ja or en. Default: Japanese if LC_ALL or LANG begins with ja."`
	JSON   bool   `help:"Print a JSON object."`

	Timeout time.Duration `default:"5s" placeholder:"TIME" help:"Time limit of each check. Those of models have three times as long."`
}

// Run checks everything that is configured and prints the results. A failed check is an error.
func (c *doctorCommand) Run(ctx context.Context, env variables, out *output) error {
	language := c.language(env)
	e := &examination{config: &c.config, env: env, limit: c.Timeout, log: slog.New(slog.DiscardHandler)}
	e.models, e.modelsErr = c.catalog(env)
	e.connect(ctx)
	if e.db != nil {
		defer e.db.Close()
	}
	reports := doctor.Run(ctx, e.checks(ctx), doctor.Options{
		Language: language, Limit: c.Timeout, Secrets: e.secrets(),
	})
	failed := 0
	for _, r := range reports {
		if r.State == doctor.Failure {
			failed++
		}
	}
	if err := c.print(out, reports, language, failed == 0); err != nil || failed == 0 {
		return err
	}
	if language == doctor.Japanese {
		return fmt.Errorf("%d件中%d件に異常があります", len(reports), failed)
	}
	return fmt.Errorf("%d of %d checks failed", failed, len(reports))
}

// language returns the language of the results.
func (c *doctorCommand) language(env variables) doctor.Language {
	if c.Lang != "" {
		return doctor.Language(c.Lang)
	}
	all, _ := env.lookup("LC_ALL")
	lang, _ := env.lookup("LANG")
	if strings.HasPrefix(cmp.Or(all, lang), string(doctor.Japanese)) {
		return doctor.Japanese
	}
	return doctor.English
}

// stateNames are the names of the states in text output.
var stateNames = map[doctor.State]doctor.Text{
	doctor.OK:      {JA: "正常", EN: "ok"},
	doctor.Warning: {JA: "警告", EN: "warning"},
	doctor.Failure: {JA: "異常", EN: "failure"},
}

// print prints a line for each report, or a JSON object.
func (c *doctorCommand) print(out *output, reports []doctor.Report, language doctor.Language, ok bool) error {
	if c.JSON {
		return json.NewEncoder(out).Encode(struct {
			OK     bool            `json:"ok"`
			Checks []doctor.Report `json:"checks"`
		}{ok, reports})
	}
	var t table
	for _, r := range reports {
		name, found := r.Name, r.Found
		if r.Subject != "" {
			name += " " + r.Subject
		}
		if r.Advice != "" {
			found += " → " + r.Advice
		}
		t.add(stateNames[r.State].In(language), name, found)
	}
	return t.write(out)
}

// examination holds the configuration and connections that several checks use.
type examination struct {
	*config
	env       variables
	limit     time.Duration // Time limit of a check.
	log       *slog.Logger  // Discards everything.
	models    llm.Catalog
	modelsErr error

	db       *store.DB      // Nil if the database is not available. Set by connect.
	database *doctor.Result // The reason if db is nil. Set by connect.
	applied  int            // The number of the last migration of the database. Set by connect.
}

// connect opens the database. Without DATABASE_URL, it is the one of the server that runs on the data folder.
func (e *examination) connect(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, e.limit)
	defer cancel()
	dsn := e.DatabaseURL
	if dsn == "" {
		var err error
		if dsn, err = postgres.Running(databaseDir(e.Data)); err != nil {
			e.database = new(e.notRunning(ctx, err))
			return
		}
	}
	db, err := store.Open(ctx, dsn)
	if err != nil {
		e.database = new(doctor.Found("接続できません：%s", "cannot be reached: %s", doctor.Cause(err)).Fail(
			"DATABASE_URLのホスト、ユーザー、パスワードと、データベースの稼働状況を確認してください。",
			"Check the host, user and password in DATABASE_URL, and that the database is running."))
		return
	}
	if e.applied, err = db.SchemaVersion(ctx); err != nil {
		db.Close()
		e.database = new(unread(err))
		return
	}
	e.db = db.WithSecrets(e.SecretKey)
}

// notRunning returns the result for the embedded database without a running server.
func (e *examination) notRunning(ctx context.Context, err error) doctor.Result {
	version, missing := postgres.Installed(ctx, postgres.Config{DataDir: databaseDir(e.Data), BinDir: e.PostgresBin})
	if missing != nil {
		return doctor.Found("組み込みのデータベースを起動できません：%s", "the embedded database cannot start: %s",
			doctor.Cause(missing)).Fail(
			"PostgreSQLをインストールするか、TSUMUGI_POSTGRES_BINまたはDATABASE_URLを設定してください。",
			"Install PostgreSQL, or set TSUMUGI_POSTGRES_BIN or DATABASE_URL.")
	}
	r := doctor.Found("組み込みのデータベース（PostgreSQL %s）は、データフォルダー%sで起動していません。",
		"the embedded database (PostgreSQL %s) is not running on the data folder %s", version, e.Data)
	if !errors.Is(err, postgres.ErrNotRunning) {
		r = doctor.Found("組み込みのデータベースの状態を確認できません：%s", "the state of the embedded database is unknown: %s",
			doctor.Cause(err))
	}
	return r.Warn("サーバーを起動してから、もう一度確認してください。サーバーと同じOSユーザーで実行し、別のデータフォルダーを使う場合はTSUMUGI_DATAを設定してください。",
		"Start the server and check again, as its operating system user. For another data folder, set TSUMUGI_DATA.")
}

// addresses returns the URLs of the configuration.
func (e *examination) addresses() []string {
	all := append(strings.Split(e.NATSURL, ","), e.DatabaseURL, e.SMTPURL, e.PublicURL, e.OpenAIBaseURL, e.SearchURL,
		e.OTLPEndpoint, e.CognitoEndpoint, e.AuditOTLPURL, e.AuditSyslogURL)
	if e.modelConnected() {
		for _, p := range e.models.Providers {
			all = append(all, p.Config.BaseURL)
		}
	}
	return all
}

// secretVariables are environment variables with secrets.
var secretVariables = []string{
	"TSUMUGI_SECRET_KEY", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN",
}

// secrets returns the secrets of the configuration, which results must not contain.
func (e *examination) secrets() []string {
	all := []string{
		e.OpenAIAPIKey, e.SearchKey, e.SlackBotToken, e.SlackSigningSecret, e.SlackAppToken, e.SlackClientSecret,
	}
	for _, p := range e.models.Providers {
		all = append(all, p.Config.APIKey)
	}
	for header := range strings.SplitSeq(e.AuditOTLPHeaders, ",") {
		_, value, _ := strings.Cut(header, "=")
		all = append(all, value)
	}
	for _, name := range secretVariables {
		value, _ := e.env.lookup(name)
		all = append(all, strings.Split(value, ",")...)
	}
	addresses := e.addresses()
	for _, name := range proxyVariables {
		value, _ := e.env.lookup(name)
		addresses = append(addresses, value)
	}
	for _, address := range addresses {
		u, err := url.Parse(strings.TrimSpace(address))
		if err != nil {
			all = append(all, address)
			continue
		}
		password, _ := u.User.Password()
		all = append(all, password, u.Query().Get("password"))
	}
	return all
}
