// Package projectdb measures searches in a large project. It starts an empty database and creates one project. The data
// sources of the project have passages but no files.
package projectdb

import (
	"context"
	"log/slog"
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

// turn is the number of passages that a server indexes in one transaction.
const turn = 1000

// Project is a project with one reader.
type Project struct {
	config  postgres.Config
	server  *postgres.Server
	db      *store.DB
	conn    *pgx.Conn
	service *datasource.Service
	owner   identity.Owner
	id      uuid.UUID
}

// New starts the database in a new folder and creates the project.
func New(ctx context.Context, folder string) (*Project, error) {
	p := &Project{
		config: postgres.Config{DataDir: folder},
		owner:  identity.Owner{OrganizationID: uuidv7.New(), UserID: uuidv7.New()}, id: uuidv7.New(),
	}
	err := p.start(ctx)
	if err == nil {
		err = p.create(ctx)
	}
	if err != nil {
		p.Close(ctx)
		return nil, err
	}
	return p, nil
}

func (p *Project) create(ctx context.Context) error {
	if err := p.db.Migrate(ctx); err != nil {
		return err
	}
	if err := p.db.CreateOrganization(ctx, org.Organization{
		ID: p.owner.OrganizationID, Name: "試験株式会社", AuthType: "cognito",
	}); err != nil {
		return err
	}
	if err := p.db.CreateUser(ctx, identity.NewUser{
		ID: p.owner.UserID, OrganizationID: p.owner.OrganizationID, Subject: "reader", Email: "reader@tsumugi.example",
		Name: "読者", Role: identity.RoleGeneralUser, AuthType: identity.AuthCognito,
	}); err != nil {
		return err
	}
	if _, err := p.conn.Exec(ctx, `INSERT INTO projects (id, organization_id, name, request_id, request_hash)
		VALUES ($1, $2, '企画', $1, '')`, p.id, p.owner.OrganizationID); err != nil {
		return err
	}
	_, err := p.conn.Exec(ctx, `INSERT INTO project_grants (organization_id, project_id, user_id, role)
		VALUES ($1, $2, $3, 'viewer')`, p.owner.OrganizationID, p.id, p.owner.UserID)
	return err
}

func (p *Project) start(ctx context.Context) (err error) {
	if p.server, err = postgres.Start(ctx, p.config); err != nil {
		return err
	}
	if p.db, err = store.Open(ctx, p.server.DSN()); err != nil {
		return err
	}
	p.service = datasource.NewService(p.db, nil, nil, slog.New(slog.DiscardHandler), datasource.Config{})
	p.conn, err = pgx.Connect(ctx, p.server.DSN())
	return err
}

// Restart restarts the database, so that nothing is in its memory.
func (p *Project) Restart(ctx context.Context) error {
	p.Close(ctx)
	return p.start(ctx)
}

// Close stops the database.
func (p *Project) Close(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if p.conn != nil {
		_ = p.conn.Close(ctx)
	}
	if p.db != nil {
		p.db.Close()
	}
	if p.server != nil {
		_ = p.server.Stop(ctx)
	}
	p.conn, p.db, p.server = nil, nil, nil
}

// Add stores a data source with its passages and returns its id. Index adds it to the project.
func (p *Project) Add(ctx context.Context, filename string, passages []datasource.Chunk) (uuid.UUID, error) {
	id := uuidv7.New()
	_, err := p.conn.Exec(ctx, `
		INSERT INTO data_sources (id, organization_id, user_id, filename, media_type, size, sha256, status, page_count,
		    chunk_count)
		VALUES ($1, $2, $3, $4, 'text/plain', 1, sha256($4::text::bytea), 'success', $5, $5)`,
		id, p.owner.OrganizationID, p.owner.UserID, filename, len(passages))
	if err != nil {
		return id, err
	}
	_, err = p.conn.CopyFrom(ctx, pgx.Identifier{"data_source_chunks"},
		[]string{"id", "organization_id", "data_source_id", "ordinal", "page", "start_byte", "end_byte", "locator", "text"},
		pgx.CopyFromSlice(len(passages), func(i int) ([]any, error) {
			c := passages[i]
			return []any{
				uuidv7.New(), p.owner.OrganizationID, id, i, max(c.Page, 1), c.Start, c.End, c.Locator, c.Text,
			}, nil
		}))
	return id, err
}

// Growth describes the index of a project.
type Growth struct {
	Took     time.Duration
	Database int64 // Growth of the database in bytes.
	GIN      int64 // Size of the GIN indexes in bytes.
}

// Index adds the data sources to the project and indexes them as a server does. progress receives the number of indexed
// passages after each turn.
func (p *Project) Index(ctx context.Context, progress func(passages int64)) (g Growth, _ error) {
	var before int64
	const size = `SELECT pg_database_size(current_database())`
	if _, err := p.conn.Exec(ctx, `VACUUM ANALYZE`); err != nil {
		return g, err
	}
	if err := p.conn.QueryRow(ctx, size).Scan(&before); err != nil {
		return g, err
	}
	began := time.Now()
	if _, err := p.conn.Exec(ctx, `INSERT INTO project_sources (organization_id, project_id, data_source_id)
		SELECT organization_id, $1, id FROM data_sources`, p.id); err != nil {
		return g, err
	}
	for {
		n, err := p.db.IndexProjects(ctx, turn)
		if err != nil {
			return g, err
		}
		if n == 0 {
			break
		}
		var indexed int64
		if err := p.conn.QueryRow(ctx, `SELECT passages FROM project_indexes`).Scan(&indexed); err != nil {
			return g, err
		}
		progress(indexed)
	}
	g.Took = time.Since(began)
	if _, err := p.conn.Exec(ctx, `VACUUM ANALYZE`); err != nil {
		return g, err
	}
	if err := p.conn.QueryRow(ctx, size).Scan(&g.Database); err != nil {
		return g, err
	}
	g.Database -= before
	return g, p.conn.QueryRow(ctx, `
		SELECT sum(pg_relation_size(indexrelid))
		FROM pg_index
		WHERE indrelid IN (SELECT relid FROM pg_partition_tree('project_passages'))
		  AND pg_get_indexdef(indexrelid) LIKE '%USING gin%'`).Scan(&g.GIN)
}

// Search returns the k best passages for a question.
func (p *Project) Search(ctx context.Context, question string, k int) ([]datasource.RetrievedPassage, error) {
	return p.service.SearchProject(ctx, p.owner, p.id, question, k)
}
