package main

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/tsumugi-ai/tsumugi/internal/datasource"
	"github.com/tsumugi-ai/tsumugi/internal/datasource/index"
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/postgres"
)

// The documents of a thread, with two passages per page.
const (
	retrieveSources = 20
	retrievePages   = 1000 // Pages of each document.
	retrieveQueries = 60
)

// measureRetrieve asks questions about the documents of a thread. It asks a newly started server, and then a server
// that has answered other questions.
func measureRetrieve(ctx context.Context, b *bench) error {
	pages := retrievePages
	if b.quick {
		pages /= 20
	}
	t := newTable("Passages of documents",
		fmt.Sprintf("The ten best passages of %d documents of %d pages, 800 characters each; ms from the "+
			"question to the passages and their neighbours, %d questions. Cold: nothing in the server's memory.",
			retrieveSources, pages, retrieveQueries), "", ours)
	b.report.Sections = append(b.report.Sections, t)
	server, err := postgres.Start(ctx, postgres.Config{DataDir: filepath.Join(b.dir, "retrieve")})
	if err != nil {
		return err
	}
	defer func() { _ = server.Stop(context.WithoutCancel(ctx)) }()
	db, err := store.Open(ctx, server.DSN())
	if err != nil {
		return err
	}
	defer db.Close()
	if err := db.Migrate(ctx); err != nil {
		return err
	}
	owner := identity.Owner{OrganizationID: uuidv7.New(), UserID: uuidv7.New()}
	if err := db.CreateOrganization(ctx, org.Organization{
		ID: owner.OrganizationID, Name: "試験株式会社",
		AuthType: "cognito",
	}); err != nil {
		return err
	}
	err = db.CreateUser(ctx, identity.NewUser{
		ID: owner.UserID, OrganizationID: owner.OrganizationID, Subject: "reader", Email: "reader@tsumugi.example",
		Name: "読者",
		Role: identity.RoleGeneralUser, AuthType: identity.AuthCognito,
	})
	if err != nil {
		return err
	}
	b.say("Retrieve: filling %d pages", retrieveSources*pages)
	random := rand.New(rand.NewPCG(3, 4)) //nolint:gosec // The texts are the same in each run.
	ids, err := fillSources(ctx, db, server.DSN(), owner, random, pages)
	if err != nil {
		return err
	}
	fresh := func() *datasource.Service {
		return datasource.NewService(db, nil, nil, slog.New(slog.DiscardHandler), datasource.Config{})
	}
	for range b.rounds {
		b.say("Retrieve")
		warm := fresh()
		var took [2][]float64
		for i := range 2 * retrieveQueries {
			question := pageText(random, 25) + "について教えてください。"
			for state, s := range []*datasource.Service{fresh(), warm} {
				began := time.Now()
				found, err := s.Retrieve(ctx, owner, ids, question, 10)
				if err != nil || len(found) == 0 {
					return fmt.Errorf("%d passages: %w", len(found), err)
				}
				if i >= retrieveQueries { // The earlier queries warm up the server.
					took[state] = append(took[state], float64(time.Since(began).Microseconds())/1000)
				}
			}
		}
		for state, name := range []string{"cold", "warm"} {
			t.add("p50, "+name, ours, 1, quantile(took[state], 0.5))
			t.add("p95, "+name, ours, 1, quantile(took[state], 0.95))
		}
	}
	b.report.atMostMedian(fmt.Sprintf("passages of %d pages, cold, p95", retrieveSources*pages), t, "p95, cold", ours,
		150, 0, " ms")
	b.report.atMostMedian(fmt.Sprintf("passages of %d pages, warm, p95", retrieveSources*pages), t, "p95, warm", ours,
		20, 0, " ms")
	return nil
}

// fillSources stores processed data sources.
func fillSources(ctx context.Context, db *store.DB, dsn string, owner identity.Owner, random *rand.Rand,
	pages int,
) (ids []uuid.UUID, err error) {
	conn, err := pgx.Connect(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	for i := range retrieveSources {
		reading := datasource.Reading{Source: datasource.Source{ID: uuidv7.New(), Revision: 2}, Owner: owner}
		_, err := conn.Exec(ctx, `
			INSERT INTO data_sources (id, organization_id, user_id, filename, media_type, size, sha256, status,
			    revision)
			VALUES ($1, $2, $3, $4, 'text/plain', 1, sha256($4::text::bytea), 'running', 2)`,
			reading.ID, owner.OrganizationID, owner.UserID, fmt.Sprintf("資料%d.txt", i))
		if err != nil {
			return nil, err
		}
		result := datasource.ReadingResult{PageCount: pages}
		var passages []index.Passage
		for n := range 2 * pages {
			text := pageText(random, 400)
			result.Chunks = append(result.Chunks, datasource.Chunk{Ordinal: n, Page: 1 + n/2, Text: text})
			passages = append(passages, index.Passage{Text: text})
		}
		result.Index = index.Build(fmt.Sprintf("資料%d", i), passages)
		if _, err := db.FinishReading(ctx, reading, result); err != nil {
			return nil, err
		}
		ids = append(ids, reading.ID)
	}
	_, err = conn.Exec(ctx, `ANALYZE`)
	return ids, err
}

// pageText returns a text of about length characters with office vocabulary. Between the words are random characters,
// which are rarer the higher their code point is.
func pageText(random *rand.Rand, length int) string {
	var text strings.Builder
	for text.Len() < 3*length {
		text.WriteString(searchWords[random.IntN(len(searchWords))])
		text.WriteString([]string{"の", "を", "に", "は", "と", "、", "です。", "します。"}[random.IntN(8)])
		for range 3 {
			text.WriteRune('一' + rune(3000*math.Pow(random.Float64(), 3)))
		}
	}
	return text.String()
}
