package main

import (
	"context"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf"
	"github.com/tsumugi-ai/tsumugi/internal/doctor"
	"github.com/tsumugi-ai/tsumugi/internal/fault"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/llm"
	"github.com/tsumugi-ai/tsumugi/internal/mail"
	"github.com/tsumugi-ai/tsumugi/internal/slack"
	"github.com/tsumugi-ai/tsumugi/migrations"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/stream/bridge"
)

// modelFactor multiplies the time limit of checks of models, which may have to be loaded first.
const modelFactor = 3

// checks returns all checks, in the order of the results.
func (e *examination) checks(ctx context.Context) []doctor.Check {
	name := func(ja, en string) doctor.Text { return doctor.Text{JA: ja, EN: en} }
	return slices.Concat(
		[]doctor.Check{
			{ID: "database", Name: name("データベース", "database"), Run: e.checkDatabase},
			{ID: "migrations", Name: name("マイグレーション", "migrations"), Run: e.checkMigrations},
			{ID: "secret-key", Name: name("暗号化の鍵", "secret key"), Run: e.checkSecrets},
			{ID: "disk", Name: name("ディスク", "disk"), Run: e.checkDisk},
			{ID: "files", Name: name("ファイルの保存先", "files"), Run: e.checkFiles},
			{ID: "font", Name: name("日本語フォント", "font"), Run: e.checkFont},
			{ID: "nats", Name: name("NATS", "NATS"), Run: e.checkNATS},
		},
		e.modelChecks(name("モデル", "model")),
		[]doctor.Check{
			{
				ID: "embedding", Name: name("埋め込みモデル", "embedding model"), Subject: e.EmbeddingModel,
				Limit: modelFactor * e.limit, Run: e.checkEmbedding,
			},
			{ID: "web-search", Name: name("ウェブ検索", "web search"), Run: e.checkWebSearch},
			{ID: "mail", Name: name("メール", "mail"), Run: e.checkMailServer},
		},
		e.each(ctx, doctor.Check{ID: "slack", Name: name("Slack", "Slack")}, e.workspaces),
		e.each(ctx, doctor.Check{ID: "single-sign-on", Name: name("シングルサインオン", "single sign-on")}, e.identityProviders),
		[]doctor.Check{
			{ID: "cognito", Name: name("AWS Cognito", "AWS Cognito"), Run: e.checkUserPool},
			{ID: "proxy", Name: name("プロキシ", "proxy"), Run: e.checkProxy},
			{ID: "dns", Name: name("DNS", "DNS"), Run: e.checkNames},
		},
	)
}

// unchecked returns the result of a check that needs the database.
func unchecked() doctor.Result {
	return doctor.Found("データベースを利用できないため、確認していません。", "not checked, because the database is not available").Warn(
		"データベースの項目を先に解決してください。", "Solve the problem of the database first.")
}

// unread returns the result of a check that could not read the database.
func unread(err error) doctor.Result {
	return doctor.Found("データベースから読み取れません: %s", "cannot be read from the database: %s", doctor.Cause(err)).Fail(
		"データベースのユーザーの権限とマイグレーションを確認してください。",
		"Check the permissions of the database user and the migrations.")
}

// always returns a check function with a known result.
func always(r doctor.Result) func(context.Context) doctor.Result {
	return func(context.Context) doctor.Result { return r }
}

// noTables returns the result of every check that reads tables if the database has none, or nil.
func (e *examination) noTables() *doctor.Result {
	switch {
	case e.db == nil:
		return new(unchecked())
	case e.applied == 0: // Before the first start, nothing is configured in the database.
		return new(doctor.NotConfigured())
	}
	return nil
}

// each returns a check for each item of a list in the database, with the id and the name of check. list returns the
// subjects and functions of the checks.
func (e *examination) each(
	ctx context.Context, check doctor.Check, list func(ctx context.Context) ([]doctor.Check, error),
) []doctor.Check {
	if r := e.noTables(); r != nil {
		check.Run = always(*r)
		return []doctor.Check{check}
	}
	check.Run = always(doctor.NotConfigured())
	ctx, cancel := context.WithTimeout(ctx, e.limit)
	defer cancel()
	items, err := list(ctx)
	if err != nil {
		check.Run = always(unread(err))
	}
	if len(items) == 0 {
		return []doctor.Check{check}
	}
	for i := range items {
		items[i].ID, items[i].Name = check.ID, check.Name
	}
	return items
}

// Limits of a good connection to the database.
const (
	oldestPostgreSQL = 15
	slowDatabase     = 20 * time.Millisecond
	clockTolerance   = time.Second
)

func (e *examination) checkDatabase(ctx context.Context) doctor.Result {
	if e.db == nil {
		return *e.database
	}
	h, err := e.db.Health(ctx)
	if err != nil {
		return unread(err)
	}
	return databaseResult(h)
}

func databaseResult(h store.Health) doctor.Result {
	r := doctor.Found("PostgreSQL %s、往復%v、利用できる接続%d、時計の差%v",
		"PostgreSQL %s, round trip %v, %d connections available, clock difference %v",
		h.Version, h.Latency.Round(10*time.Microsecond), h.FreeConns, h.ClockOffset.Round(time.Millisecond))
	if h.Major < oldestPostgreSQL {
		r = r.Fail("PostgreSQL %d以降に更新してください。", "Upgrade to PostgreSQL %d or newer.", oldestPostgreSQL)
	}
	if h.Latency > slowDatabase {
		r = r.Warn("応答が遅いため、サーバーの近くにデータベースを置いてください。", "It is slow: run the database close to the server.")
	}
	if h.FreeConns < h.NeededConns {
		r = r.Warn("1台のサーバーは最大%d個の接続を使います。max_connectionsを増やすか、DATABASE_URLのpool_max_connsを減らしてください。",
			"A server uses up to %d connections: raise max_connections, or reduce pool_max_conns in DATABASE_URL.",
			h.NeededConns)
	}
	if h.ClockOffset.Abs() > clockTolerance {
		r = r.Warn("両方のマシンの時計をNTPで合わせてください。", "Synchronize the clocks of both machines by NTP.")
	}
	return r
}

func (e *examination) checkMigrations(context.Context) doctor.Result {
	if e.db == nil {
		return unchecked()
	}
	known := migrations.Newest()
	r := doctor.Found("データベースは%d、このプログラムは%d", "the database has %d, this program knows %d", e.applied, known)
	switch {
	case e.applied < known:
		return r.Warn("tsumugi migrateを実行するか、このバージョンのサーバーを起動してください。",
			"Run tsumugi migrate, or start a server of this version.")
	case e.applied > known:
		return r.Fail("データベースより古いサーバーは起動しません。新しいバージョンを使うか、更新前のバックアップを復元してください。",
			"An older server does not start: use the newer version, or restore a backup made before the upgrade.")
	}
	return r
}

func (e *examination) checkSecrets(ctx context.Context) doctor.Result {
	if r := e.noTables(); r != nil {
		return *r
	}
	s, err := e.db.CheckSecrets(ctx)
	if err != nil {
		return unread(err)
	}
	switch {
	case s.Unreadable > 0:
		return doctor.Found("データベースの秘密情報%d件のうち%d件を復号できません。",
			"%[2]d of %[1]d secrets in the database cannot be decrypted", s.All, s.Unreadable).Fail(
			"それらを暗号化した鍵をTSUMUGI_SECRET_KEYに追加してください。",
			"Add the key that encrypted them to TSUMUGI_SECRET_KEY.")
	case e.SecretKey.Empty():
		return doctor.NotConfigured()
	case s.Plain > 0:
		return doctor.Found("データベースの秘密情報%d件のうち%d件が暗号化されていません。",
			"%[2]d of %[1]d secrets in the database are not encrypted", s.All, s.Plain).Warn(
			"tsumugi secret rotateを実行してください。", "Run tsumugi secret rotate.")
	}
	return doctor.Found("データベースの秘密情報%d件を復号できます。", "decrypts all %d secrets in the database", s.All)
}

// Limits of the free space in the data folder.
const (
	littleSpace = 5 << 30
	noSpace     = 512 << 20
)

func (e *examination) checkDisk(context.Context) doctor.Result {
	dir := e.Data
	var stat syscall.Statfs_t
	err := syscall.Statfs(dir, &stat)
	for errors.Is(err, fs.ErrNotExist) && dir != filepath.Dir(dir) { // The first start creates the folder.
		dir = filepath.Dir(dir)
		err = syscall.Statfs(dir, &stat)
	}
	if err != nil {
		return doctor.Found("%sを確認できません: %s", "%s cannot be examined: %s", e.Data, err.Error()).Fail(
			"TSUMUGI_DATAのフォルダーと権限を確認してください。", "Check the folder of TSUMUGI_DATA and its permissions.")
	}
	return spaceResult(e.Data, stat.Bavail*uint64(stat.Bsize))
}

func spaceResult(dir string, free uint64) doctor.Result {
	r := doctor.Found("%sの空き容量は%.1f GiB", "%s has %.1f GiB of free space", dir, float64(free)/(1<<30))
	switch {
	case free < noSpace:
		return r.Fail("空き容量を増やしてください。不足すると、データベースとファイルに書き込めません。",
			"Free some space: without it, neither the database nor files can be written.")
	case free < littleSpace:
		return r.Warn("空き容量を増やしてください。", "Free some space.")
	}
	return r
}

func (e *examination) checkFiles(ctx context.Context) doctor.Result {
	dir, isFolder := locationFolder(e.filesLocation(e.Data))
	if isFolder {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
			return doctor.Found("%sは、サーバーの起動時に作成されます。", "the start of the server creates %s", dir)
		}
	}
	files, err := e.openFiles(ctx, e.Data)
	if err == nil {
		err = errors.Join(files.Check(ctx), files.Close())
	}
	if err != nil {
		return doctor.Found("書き込み、読み取り、削除の確認に失敗しました: %s", "writing, reading and deleting failed: %s",
			doctor.Cause(err)).Fail(
			"BLOB_URL、認証情報とその権限、またはフォルダーの所有者を確認してください。",
			"Check BLOB_URL, the credentials and their permissions, or the owner of the folder.")
	}
	if !isFolder {
		dir, _, _ = strings.Cut(e.BlobURL, "?")
	}
	return doctor.Found("%sへの書き込み、読み取り、削除ができました。", "wrote, read and deleted an object in %s", dir)
}

func (e *examination) checkFont(context.Context) doctor.Result {
	path := e.Font
	if path == "" {
		path = pdf.FindFont()
	}
	if path == "" {
		return doctor.Found("見つかりません。", "none was found").Warn(
			"フォントが埋め込まれていないPDFを読めません。fonts-noto-cjkをインストールするか、TSUMUGI_FONTを設定してください。",
			"PDF files without embedded fonts are refused: install fonts-noto-cjk, or set TSUMUGI_FONT.")
	}
	if _, err := os.Stat(path); err != nil {
		return doctor.Found("開けません: %s", "cannot be opened: %s", err.Error()).Fail(
			"TSUMUGI_FONTを確認してください。", "Check TSUMUGI_FONT.")
	}
	return doctor.Found("%s", "%s", path)
}

func (e *examination) checkNATS(ctx context.Context) doctor.Result {
	if e.NATSURL == "" {
		return doctor.NotConfigured()
	}
	if err := bridge.Check(ctx, e.NATSURL); err != nil {
		return doctor.Found("JetStreamに接続できません: %s", "JetStream cannot be reached: %s", doctor.Cause(err)).Fail(
			"NATS_URLと認証情報、NATSの稼働状況、JetStreamの設定を確認してください。",
			"Check NATS_URL and its credentials, that NATS is running, and that JetStream is enabled.")
	}
	return doctor.Found("JetStreamに接続できました。", "connected to JetStream")
}

// modelChecks returns a check for each configured model.
func (e *examination) modelChecks(name doctor.Text) []doctor.Check {
	check := doctor.Check{ID: "model", Name: name, Limit: modelFactor * e.limit}
	switch {
	case e.modelsErr != nil:
		check.Run = always(doctor.Found("設定が正しくありません: %s", "the configuration is invalid: %s",
			doctor.Cause(e.modelsErr)).Fail("TSUMUGI_MODELSのファイルを修正してください。", "Correct the file of TSUMUGI_MODELS."))
		return []doctor.Check{check}
	case !e.modelConnected():
		check.Run = always(doctor.Found("未設定（オフラインエンジンが回答します）", "not configured; the offline engine answers"))
		return []doctor.Check{check}
	}
	var all []doctor.Check
	for _, p := range e.models.Providers {
		for _, route := range p.Routes {
			check.Subject = route.ID
			check.Run = func(ctx context.Context) doctor.Result { return e.checkModel(ctx, p.Config, route) }
			all = append(all, check)
		}
	}
	return all
}

// checkModel asks a model, without retries and fallbacks, and cancels the answer at its first token.
func (e *examination) checkModel(ctx context.Context, provider llm.Config, route llm.Route) doctor.Result {
	provider.MaxRetries, route.Fallback = -1, ""
	router, err := llm.NewRouter(llm.Catalog{
		Providers: []llm.Provider{{Config: provider, Routes: []llm.Route{route}}}, Default: route.ID,
	}, e.log)
	if err == nil {
		defer router.Close()
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		began, took := time.Now(), time.Duration(0)
		first := func(string) {
			if took == 0 {
				took = time.Since(began)
				cancel()
			}
		}
		_, err = router.Stream(ctx, llm.Request{
			Messages: []llm.Message{{Role: llm.RoleUser, Content: "Reply with OK."}}, Reasoning: first,
		}, first)
		if took > 0 {
			return doctor.Found("%vで最初のトークンを受信しました。", "the first token came after %v", took.Round(time.Millisecond))
		}
	}
	if err == nil {
		return doctor.Found("回答が空でした。", "the answer is empty").Warn("モデル名を確認してください。", "Check the name of the model.")
	}
	return doctor.Found("応答がありません: %s", "does not answer: %s", doctor.Cause(err)).Fail(modelAdvice(err))
}

// modelAdvice returns the advice for an error of a model, in Japanese and English.
func modelAdvice(err error) (ja, en string) {
	switch fault.CodeOf(err) {
	case llm.CodeAuth:
		return "APIキーを確認してください。", "Check the API key."
	case llm.CodeNotFound:
		return "モデル名とベースURLを確認してください。", "Check the name of the model and the base URL."
	case llm.CodeQuota, llm.CodeRateLimited:
		return "提供元の利用枠と請求の設定を確認してください。", "Check the quota and the billing at the provider."
	}
	return "ベースURL、提供元の稼働状況、ネットワークとプロキシを確認してください。",
		"Check the base URL, that the provider is running, the network and the proxy."
}

func (e *examination) checkEmbedding(ctx context.Context) doctor.Result {
	embedding, err := e.embedding(e.log)
	if err == nil && embedding.Embedder == nil {
		return doctor.NotConfigured()
	}
	var vectors [][]float32
	if err == nil {
		vectors, err = embedding.Embedder.Embed(ctx, []string{"紡"})
	}
	if err != nil {
		return doctor.Found("ベクトルを取得できません: %s", "returns no vector: %s", doctor.Cause(err)).Fail(modelAdvice(err))
	}
	return doctor.Found("%d次元のベクトルを受信しました。", "returned a vector of %d numbers", len(vectors[0]))
}

func (e *examination) checkWebSearch(ctx context.Context) doctor.Result {
	service, err := e.openSearch(nil)
	if err == nil && service == nil {
		return doctor.NotConfigured()
	}
	results := 0
	if err == nil {
		defer service.Close()
		found, searchErr := service.Search(ctx, "Tsumugi")
		results, err = len(found), searchErr
	}
	if err != nil {
		return doctor.Found("検索できません: %s", "cannot search: %s", doctor.Cause(err)).Fail(
			"TSUMUGI_SEARCH_URLとTSUMUGI_SEARCH_KEY、SearXNGの場合はsearch.formatsのjsonを確認してください。",
			"Check TSUMUGI_SEARCH_URL and TSUMUGI_SEARCH_KEY and, for SearXNG, the format json in search.formats.")
	}
	return doctor.Found("検索できました（%d件）。", "searched, %d results", results)
}

func (e *examination) checkMailServer(ctx context.Context) doctor.Result {
	if e.SMTPURL == "" {
		return doctor.Found("未設定（メールは送信されず、データフォルダーに保存されます）",
			"not configured; mails are stored in the data folder")
	}
	if err := mail.Check(ctx, e.SMTPURL, mail.SMTPConfig{}); err != nil {
		return doctor.Found("メールサーバーに接続できません: %s", "the mail server refuses the session: %s", doctor.Cause(err)).Fail(
			"SMTP_URLのホスト、ポート、ユーザー、パスワードと、サーバーの証明書を確認してください。",
			"Check the host, port, user and password in SMTP_URL, and the certificate of the server.")
	}
	return doctor.Found("メールサーバーに接続できました（メールは送信していません）。", "connected to the mail server; no mail was sent")
}

// workspaces returns a check for each connected workspace. It includes the workspace of the settings even before a
// server has stored it.
func (e *examination) workspaces(ctx context.Context) (checks []doctor.Check, err error) {
	installations, err := e.db.ListInstallations(ctx, slack.Name)
	if err != nil {
		return nil, err
	}
	if own := e.credentials(); own != (channel.Credentials{}) {
		installations = slices.DeleteFunc(installations, func(in channel.Installation) bool {
			return in.Source == channel.SourceEnvironment
		})
		installations = append(installations, channel.Installation{Credentials: own, TeamName: "SLACK_BOT_TOKEN"})
	}
	for _, in := range installations {
		checks = append(checks, doctor.Check{Subject: in.TeamName, Run: func(ctx context.Context) doctor.Result {
			return e.checkWorkspace(ctx, in)
		}})
	}
	return checks, nil
}

func (e *examination) checkWorkspace(ctx context.Context, in channel.Installation) doctor.Result {
	if in.Credentials.BotToken == "" {
		return doctor.Found("ボットトークンがありません。", "has no bot token that can be read").Warn(
			"/admin/slackで設定を完了してください。暗号化の鍵の項目も確認してください。",
			"Complete the setup at /admin/slack, and see the secret key above.")
	}
	adapter, err := slack.New(slack.Config{APIURL: e.SlackAPIURL}, e.log)
	if err != nil {
		return doctor.Found("SLACK_API_URLが正しくありません: %s", "SLACK_API_URL is invalid: %s", doctor.Cause(err)).Fail(
			"SLACK_API_URLを修正してください。", "Correct SLACK_API_URL.")
	}
	defer adapter.Close()
	var names, details []string
	for _, check := range adapter.Check(ctx, in) {
		if !check.OK {
			names, details = append(names, check.Name), append(details, check.Detail)
		}
	}
	if len(names) == 0 {
		return doctor.Found("接続できました。", "connected")
	}
	return doctor.Found("確認できない項目があります: %s", "failed: %s", strings.Join(names, ", ")).Fail(strings.Join(details, " "),
		"Check the tokens and scopes of the Slack app, and the network; tsumugi slack test shows details.")
}

// certificateNotice is the remaining lifetime below which a certificate is reported.
const certificateNotice = 30 * 24 * time.Hour

// identityProviders returns a check for each organization with single sign-on.
func (e *examination) identityProviders(ctx context.Context) (checks []doctor.Check, err error) {
	organizations, err := e.db.ListOrganizations(ctx)
	for _, o := range organizations {
		if identity.AuthType(o.AuthType) == identity.AuthFederated {
			checks = append(checks, doctor.Check{Subject: o.Name, Run: func(ctx context.Context) doctor.Result {
				return e.checkSAML(ctx, o.ID)
			}})
		}
	}
	return checks, err
}

// checkSAML checks the identity provider's certificate that is valid longest, because each of them may sign.
func (e *examination) checkSAML(ctx context.Context, organization uuid.UUID) doctor.Result {
	settings, err := e.db.SAMLSettings(ctx, organization)
	if err != nil {
		return unread(err)
	}
	var end time.Time
	for _, der := range settings.Certificates {
		if certificate, err := x509.ParseCertificate(der); err == nil && certificate.NotAfter.After(end) {
			end = certificate.NotAfter
		}
	}
	return certificateResult(end, time.Now())
}

func certificateResult(end, now time.Time) doctor.Result {
	r := doctor.Found("IDプロバイダーの証明書の有効期限は%s", "the identity provider's certificate is valid until %s",
		end.UTC().Format(time.DateOnly))
	const ja = "IDプロバイダーの新しいメタデータを、管理者画面のシングルサインオンで登録してください。"
	const en = "Register the new metadata of the identity provider at /admin/saml."
	switch {
	case end.Before(now):
		return r.Fail("期限切れのため、ログインできません。"+ja, "It has expired, so that nobody can sign in. "+en)
	case end.Before(now.Add(certificateNotice)):
		return r.Warn(ja, en)
	}
	return r
}

func (e *examination) checkUserPool(ctx context.Context) doctor.Result {
	if e.CognitoUserPoolID == "" {
		return doctor.NotConfigured()
	}
	if err := e.remoteKeys(e.log).Check(ctx); err != nil {
		return doctor.Found("公開鍵を取得できません: %s", "its public keys cannot be read: %s", doctor.Cause(err)).Fail(
			"COGNITO_USER_POOL_ID、COGNITO_REGION、COGNITO_ENDPOINTとネットワークを確認してください。",
			"Check COGNITO_USER_POOL_ID, COGNITO_REGION, COGNITO_ENDPOINT and the network.")
	}
	return doctor.Found("公開鍵を取得できました。", "its public keys can be read")
}

// proxyVariables are the variables with the URL of a proxy.
var proxyVariables = []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"}

// proxySchemes are the schemes of proxies that net/http supports.
var proxySchemes = []string{"http", "https", "socks5", "socks5h"}

// checkProxy checks the environment variables that net/http uses.
func (e *examination) checkProxy(context.Context) doctor.Result {
	var used, invalid []string
	for _, name := range proxyVariables {
		value, _ := e.env.lookup(name)
		if value == "" {
			continue
		}
		if !strings.Contains(value, "://") {
			value = "http://" + value
		}
		u, err := url.Parse(value)
		if err != nil || u.Hostname() == "" || !slices.Contains(proxySchemes, u.Scheme) {
			invalid = append(invalid, name)
			continue
		}
		used = append(used, name+"="+u.Host)
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		value, _ := e.env.lookup(name)
		for entry := range strings.SplitSeq(value, ",") {
			_, _, err := net.ParseCIDR(strings.TrimSpace(entry))
			if strings.Contains(entry, "/") && err != nil && !slices.Contains(invalid, name) {
				invalid = append(invalid, name)
			}
		}
	}
	switch {
	case len(invalid) > 0:
		return doctor.Found("値が正しくありません: %s", "invalid: %s", strings.Join(invalid, ", ")).Fail(
			"プロキシはhttp://ホスト:ポート、NO_PROXYはドメイン、IPアドレス、CIDRをカンマ区切りで指定してください。",
			"A proxy has the form http://host:port, NO_PROXY is a list of domains, IP addresses and CIDR networks.")
	case len(used) == 0:
		return doctor.NotConfigured()
	}
	r := doctor.Found("%s", "%s", strings.Join(used, ", "))
	if e.ProxyResolves {
		r = r.Warn("ウェブページのホスト名をこのサーバーでは確認しません。プロキシで内部のアドレスへの接続を拒否してください。"+
			"外部のホスト名をこのサーバーで解決できる場合は、TSUMUGI_PROXY_RESOLVESを外してください。",
			"This server does not check the addresses of web pages: make the proxy refuse internal addresses, or remove "+
				"TSUMUGI_PROXY_RESOLVES if this server can resolve external names.")
	}
	return r
}

// checkNames resolves the host names of the configuration.
func (e *examination) checkNames(ctx context.Context) doctor.Result {
	proxied := slices.ContainsFunc(proxyVariables, func(name string) bool {
		value, _ := e.env.lookup(name)
		return value != ""
	})
	hosts := e.hosts()
	failed := make([]bool, len(hosts))
	var running sync.WaitGroup
	for i, host := range hosts {
		running.Go(func() {
			_, err := net.DefaultResolver.LookupHost(ctx, host)
			failed[i] = err != nil
		})
	}
	running.Wait()
	var missing []string
	for i, host := range hosts {
		if failed[i] {
			missing = append(missing, host)
		}
	}
	switch {
	case len(hosts) == 0:
		return doctor.Found("設定にホスト名はありません。", "the configuration names no hosts")
	case len(missing) == 0:
		return doctor.Found("%d件のホスト名を解決できました。", "resolved %d host names", len(hosts))
	}
	r := doctor.Found("解決できません: %s", "cannot be resolved: %s", strings.Join(missing, ", "))
	if proxied || len(missing) == 1 && missing[0] == hostOf(e.PublicURL) {
		return r.Warn("プロキシや利用者のネットワークで解決できる名前であれば、問題ありません。",
			"This is no problem if the proxy, or the network of the users, resolves them.")
	}
	return r.Fail("ホスト名の綴りと、このマシンのDNSの設定を確認してください。", "Check their spelling, and the DNS settings of this machine.")
}

// hosts returns the host names in the configuration, without IP addresses.
func (e *examination) hosts() []string {
	var all []string
	for _, address := range e.addresses() {
		all = append(all, hostOf(address))
	}
	all = slices.DeleteFunc(all, func(host string) bool { return host == "" || net.ParseIP(host) != nil })
	slices.Sort(all)
	return slices.Compact(all)
}

// hostOf returns the host of a URL without its port, or "".
func hostOf(address string) string {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return ""
	}
	return u.Hostname()
}
