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
	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/postgres"
)

// The passages of a project.
const (
	projectSources  = 10_000
	projectPassages = 50 // Of each data source.
	projectQueries  = 100
)

// measureProject asks questions about all passages of a project, first with nothing in the memory of the database, and
// measures the growth of the database by the index.
func measureProject(ctx context.Context, b *bench) error {
	sources := projectSources
	if b.quick {
		sources /= 50
	}
	t := newTable("Passages of a project",
		fmt.Sprintf("The 30 best of %d passages of 400 characters in %d data sources; ms from the question to the "+
			"passages and their neighbours, %d questions. Cold: the database was just started. The index is written by "+
			"the server.", sources*projectPassages, sources, projectQueries), "", ours)
	b.report.Sections = append(b.report.Sections, t)
	config := postgres.Config{DataDir: filepath.Join(b.dir, "project")}
	p, err := startProject(ctx, config)
	if err != nil {
		return err
	}
	defer func() { p.stop(ctx) }()
	words := vocabulary()
	b.say("Project: filling %d passages", sources*projectPassages)
	if err := p.fill(ctx, words, sources); err != nil {
		return err
	}
	if err := p.index(ctx, b, t, sources*projectPassages); err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(7, 8)) //nolint:gosec // The questions are the same in each run.
	for range b.rounds {
		p.stop(ctx)
		if err := p.start(ctx, config); err != nil {
			return err
		}
		b.say("Project")
		for _, state := range []string{"cold", "warm"} {
			var took []float64
			for range projectQueries {
				question := words.text(random, 8) + "について教えてください。"
				began := time.Now()
				found, err := p.service.SearchProject(ctx, p.owner, p.id, question, 30)
				if err != nil || len(found) == 0 {
					return fmt.Errorf("%d passages: %w", len(found), err)
				}
				took = append(took, float64(time.Since(began).Microseconds())/1000)
			}
			t.add("p50, "+state, ours, 1, quantile(took, 0.5))
			t.add("p95, "+state, ours, 1, quantile(took, 0.95))
		}
	}
	b.report.atMost(fmt.Sprintf("passages of a project with %d, warm, p95", sources*projectPassages),
		t.median("p95, warm", ours), 150, 0, " ms")
	return nil
}

// benchProject is a project in a database of its own.
type benchProject struct {
	server  *postgres.Server
	db      *store.DB
	conn    *pgx.Conn
	service *datasource.Service
	owner   identity.Owner
	id      uuid.UUID
}

func startProject(ctx context.Context, config postgres.Config) (*benchProject, error) {
	p := &benchProject{
		owner: identity.Owner{OrganizationID: uuidv7.New(), UserID: uuidv7.New()}, id: uuidv7.New(),
	}
	if err := p.start(ctx, config); err != nil {
		return nil, err
	}
	if err := p.db.Migrate(ctx); err != nil {
		return nil, err
	}
	if err := p.db.CreateOrganization(ctx, org.Organization{
		ID: p.owner.OrganizationID, Name: "試験株式会社", AuthType: "cognito",
	}); err != nil {
		return nil, err
	}
	if err := p.db.CreateUser(ctx, identity.NewUser{
		ID: p.owner.UserID, OrganizationID: p.owner.OrganizationID, Subject: "reader", Email: "reader@tsumugi.example",
		Name: "読者", Role: identity.RoleGeneralUser, AuthType: identity.AuthCognito,
	}); err != nil {
		return nil, err
	}
	_, err := p.conn.Exec(ctx, `INSERT INTO projects (id, organization_id, name, request_id, request_hash)
		VALUES ($1, $2, '企画', $1, '')`, p.id, p.owner.OrganizationID)
	if err != nil {
		return nil, err
	}
	_, err = p.conn.Exec(ctx, `INSERT INTO project_grants (organization_id, project_id, user_id, role)
		VALUES ($1, $2, $3, 'viewer')`, p.owner.OrganizationID, p.id, p.owner.UserID)
	return p, err
}

func (p *benchProject) start(ctx context.Context, config postgres.Config) (err error) {
	if p.server, err = postgres.Start(ctx, config); err != nil {
		return err
	}
	if p.db, err = store.Open(ctx, p.server.DSN()); err != nil {
		return err
	}
	p.service = datasource.NewService(p.db, nil, nil, nil, slog.New(slog.DiscardHandler), datasource.Config{})
	p.conn, err = pgx.Connect(ctx, p.server.DSN())
	return err
}

func (p *benchProject) stop(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	_ = p.conn.Close(ctx)
	p.db.Close()
	_ = p.server.Stop(ctx)
}

// fill stores read data sources with their passages. The packed indexes of the data sources are not needed.
func (p *benchProject) fill(ctx context.Context, words vocabularyOf, sources int) error {
	random := rand.New(rand.NewPCG(5, 6)) //nolint:gosec // The texts are the same in each run.
	for i := range sources {
		id := uuidv7.New()
		_, err := p.conn.Exec(ctx, `
			INSERT INTO data_sources (id, organization_id, user_id, filename, media_type, size, sha256, status, page_count,
			    chunk_count)
			VALUES ($1, $2, $3, $4, 'text/plain', 1, sha256($4::text::bytea), 'success', $5, $5)`,
			id, p.owner.OrganizationID, p.owner.UserID, fmt.Sprintf("資料%d.txt", i), projectPassages)
		if err != nil {
			return err
		}
		_, err = p.conn.CopyFrom(ctx, pgx.Identifier{"data_source_chunks"},
			[]string{"id", "organization_id", "data_source_id", "ordinal", "page", "text"},
			pgx.CopyFromSlice(projectPassages, func(n int) ([]any, error) {
				return []any{uuidv7.New(), p.owner.OrganizationID, id, n, 1 + n/2, words.text(random, 400)}, nil
			}))
		if err != nil {
			return err
		}
	}
	_, err := p.conn.Exec(ctx, `ANALYZE`)
	return err
}

// index adds the data sources to the project and indexes them.
func (p *benchProject) index(ctx context.Context, b *bench, t *table, passages int) error {
	var before, after, log int64
	size := `SELECT pg_database_size(current_database())`
	if err := p.conn.QueryRow(ctx, size).Scan(&before); err != nil {
		return err
	}
	began := time.Now()
	_, err := p.conn.Exec(ctx, `INSERT INTO project_sources (organization_id, project_id, data_source_id)
		SELECT organization_id, $1, id FROM data_sources`, p.id)
	if err != nil {
		return err
	}
	b.say("Project: indexing")
	for told := time.Now(); ; {
		n, err := p.db.IndexProjects(ctx, 1000)
		if err != nil {
			return err
		}
		if n == 0 {
			break
		}
		if time.Since(told) > 30*time.Second {
			told = time.Now()
			var done int64
			if err := p.conn.QueryRow(ctx, `SELECT passages FROM project_indexes`).Scan(&done); err != nil {
				return err
			}
			b.say("Project: %d passages are indexed", done)
		}
	}
	took := time.Since(began)
	if _, err := p.conn.Exec(ctx, `VACUUM ANALYZE`); err != nil {
		return err
	}
	if err := p.conn.QueryRow(ctx, size).Scan(&after); err != nil {
		return err
	}
	if err := p.conn.QueryRow(ctx, `
		SELECT sum(pg_relation_size(indexrelid))
		FROM pg_index
		WHERE indrelid IN (SELECT relid FROM pg_partition_tree('project_passages'))
		  AND pg_get_indexdef(indexrelid) LIKE '%USING gin%'`).Scan(&log); err != nil {
		return err
	}
	t.add("indexed passages per second", ours, 0, float64(passages)/took.Seconds())
	t.add("growth of the database, kB per passage", ours, 1, float64(after-before)/1000/float64(passages))
	t.add("of it GIN, kB per passage", ours, 1, float64(log)/1000/float64(passages))
	return nil
}

// vocabularyOf is a list of words. The frequency of a word is the inverse of its rank, as in natural language.
type vocabularyOf []string

// vocabulary returns 50,000 words of two to four characters after the office vocabulary.
func vocabulary() vocabularyOf {
	random := rand.New(rand.NewPCG(9, 10)) //nolint:gosec // The words are the same in each run.
	words := append(vocabularyOf{}, searchWords...)
	for len(words) < 50_000 {
		var word strings.Builder
		for range 2 + random.IntN(3) {
			word.WriteRune('一' + rune(3000*math.Pow(random.Float64(), 3)))
		}
		words = append(words, word.String())
	}
	return words
}

// text returns a text of about length characters.
func (v vocabularyOf) text(random *rand.Rand, length int) string {
	var text strings.Builder
	for text.Len() < 3*length {
		text.WriteString(v[int(math.Pow(float64(len(v)), random.Float64()))-1])
		text.WriteString([]string{"の", "を", "に", "は", "と", "、", "です。", "します。"}[random.IntN(8)])
	}
	return text.String()
}
