package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/datasource/extract/pdf"
	"github.com/tsumugi-ai/tsumugi/internal/doctor"
	"github.com/tsumugi-ai/tsumugi/migrations"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/postgres"
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
		e.auditChecks(name("監査ログの転送", "audit log")),
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
	return doctor.Found("データベースから読み取れません：%s", "cannot be read from the database: %s", doctor.Cause(err)).Fail(
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
	slowDatabase   = 20 * time.Millisecond
	clockTolerance = time.Second
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
	if h.Major < postgres.MinMajor {
		r = r.Fail("PostgreSQL %d以降に更新してください。", "Upgrade to PostgreSQL %d or newer.", postgres.MinMajor)
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
		return doctor.Found("%sを確認できません：%s", "%s cannot be examined: %s", e.Data, err.Error()).Fail(
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
		return doctor.Found("書き込み、読み取り、削除の確認に失敗しました：%s", "writing, reading and deleting failed: %s",
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
		return doctor.Found("開けません：%s", "cannot be opened: %s", err.Error()).Fail(
			"TSUMUGI_FONTを確認してください。", "Check TSUMUGI_FONT.")
	}
	return doctor.Found("%s", "%s", path)
}
