package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
	"github.com/tsumugi-ai/tsumugi/store/postgres"
)

// The searched data are threads of one person, each with a question and an answer of office vocabulary.
const (
	searchThreads  = 10_000
	questionLength = 60 // In characters.
	answerLength   = 600
	searchWait     = 20 * time.Minute // Time limit for indexing all of them.
)

// searchWords are office vocabulary. A text is a random sequence of them, so that most words occur in most answers.
var searchWords = strings.Fields(`会議 議事録 予算 見直し 資料 来週 木曜日 担当 営業 開発 移行 データ 契約 更新 請求書 経費 精算 出張 大阪 東京
	お客様 確認 導入 効果 検討 課題 対応 方針 決定 事項 報告 進捗 共有 送付 締切 期限 変更 追加 削除 承認 稟議 申請 人事 評価 採用 研修 面談 目標 達成
	売上 利益 原価 在庫 発注 納品 検収 支払 入金 口座 残高 税率 控除 年末 調整 保険 年金 就業 規則 休暇 残業 勤怠 打刻 監査 統制 文書 規程 様式 押印 電子
	署名 保管 廃棄 機密 漏洩 教育 訓練 防災 避難 備品 購買 見積 比較 選定 納期 遅延 品質 検査 不良 改善 提案 表彰 広報 取材 掲載 採択 助成 補助`)

// measureSearch searches one person's threads over HTTP for words that occur in nearly all threads, in a few, and in
// none.
func measureSearch(ctx context.Context, b *bench) error {
	threads := searchThreads
	if b.quick {
		threads /= 20
	}
	t := newTable("Search in what was said",
		fmt.Sprintf("One person with %d threads of a question and an answer of %d characters, ms from the call to "+
			"its answer over HTTP, 20 threads each, 20 calls for each query.", threads, answerLength), "", ours)
	b.report.Sections = append(b.report.Sections, t)
	db, err := postgres.Start(ctx, postgres.Config{DataDir: filepath.Join(b.dir, "search")})
	if err != nil {
		return err
	}
	defer func() { _ = db.Stop(context.WithoutCancel(ctx)) }()
	p := &product{database: db.DSN()}
	defer p.stop()
	if err := p.start(ctx, b); err != nil {
		return err
	}
	b.say("Search: filling %d threads", threads)
	if err := fillThreads(ctx, db.DSN(), p.skill.ID, threads); err != nil {
		return err
	}
	for range b.rounds {
		b.say("Search")
		var all []float64
		for _, query := range []string{"の", "会議", "議事録 予算", "防災訓練の準備", "第9876回", "見つからない言葉"} {
			var took []float64
			for range 20 {
				began := time.Now()
				if err := p.client.Call(ctx, "GET", "/v1/thread?limit=20&q="+url.QueryEscape(query), nil,
					nil); err != nil {
					return err
				}
				took = append(took, float64(time.Since(began).Microseconds())/1000)
			}
			t.add("p50, 「"+query+"」", ours, 1, quantile(took, 0.5))
			all = append(all, took...)
		}
		t.add("p95 of all", ours, 1, quantile(all, 0.95))
	}
	b.report.atMostMedian(fmt.Sprintf("search in %d threads, p95", threads), t, "p95 of all", ours, 100, 0, " ms")
	return nil
}

// fillThreads writes threads of the demo user into the database, and waits until the server has indexed them.
func fillThreads(ctx context.Context, dsn, skillID string, threads int) error {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var user, organization uuid.UUID
	err = conn.QueryRow(ctx, `SELECT id, organization_id FROM users WHERE email = $1`, demoUser).Scan(&user,
		&organization)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // The texts are the same in each run.
	var rows, messages [][]any
	for i := range threads {
		thread, question, answer := uuidv7.New(), uuidv7.New(), uuidv7.New()
		at := time.Now().Add(-time.Duration(i) * time.Minute)
		title := fmt.Sprintf("第%d回の%s", i, searchWords[random.IntN(len(searchWords))])
		rows = append(rows, []any{thread, organization, user, uuid.MustParse(skillID), title, at, at, at})
		messages = append(messages,
			[]any{question, organization, thread, "user", officeText(random, questionLength), "success", nil, at},
			[]any{answer, organization, thread, "assistant", officeText(random, answerLength), "success", question, at})
	}
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"threads"},
		[]string{"id", "organization_id", "user_id", "skill_id", "title", "created_at", "updated_at", "touched_at"},
		pgx.CopyFromRows(rows))
	if err != nil {
		return err
	}
	_, err = conn.CopyFrom(ctx, pgx.Identifier{"messages"},
		[]string{"id", "organization_id", "thread_id", "role", "content", "status", "parent_id", "completed_at"},
		pgx.CopyFromRows(messages))
	if err != nil {
		return err
	}
	for until := time.Now().Add(searchWait); ; {
		var pending bool
		if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM search_pending)`).Scan(&pending); err != nil ||
			!pending {
			return err
		}
		if time.Now().After(until) {
			return errors.New("the server does not index what was said")
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// officeText returns a text of about n characters.
func officeText(random *rand.Rand, length int) string {
	var text strings.Builder
	for text.Len() < 3*length {
		text.WriteString(searchWords[random.IntN(len(searchWords))])
		text.WriteString([]string{"の", "を", "に", "は", "と", "、", "です。", "します。\n"}[random.IntN(8)])
	}
	return text.String()
}
