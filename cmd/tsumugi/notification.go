package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/org"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/postgres"
)

// operation is what the commands of those who run a server have in common: the database that the server uses.
type operation struct {
	DatabaseURL string `env:"DATABASE_URL" placeholder:"URL" help:"PostgreSQL that the servers use. Default: the one of the server that runs on the data folder."`
	Data        string `env:"TSUMUGI_DATA" default:"./data" type:"path" help:"Data folder of the running server."`
}

// open connects to the database of the servers.
func (o *operation) open(ctx context.Context) (*store.DB, error) {
	dsn := o.DatabaseURL
	if dsn == "" {
		var err error
		if dsn, err = postgres.Running(filepath.Join(o.Data, databaseFolder)); err != nil {
			return nil, fmt.Errorf("%w; start the server, or name its --data (TSUMUGI_DATA) or --database-url (DATABASE_URL)", err)
		}
	}
	return store.Open(ctx, dsn)
}

type notificationCommand struct {
	Publish publishCommand `cmd:"" help:"Tell people of something: the notice appears in their open tabs at once, and under the bell."`
}

type publishCommand struct {
	operation    `embed:""`
	Title        string    `required:"" placeholder:"TEXT" help:"One line, at most 200 characters."`
	Body         string    `placeholder:"TEXT" help:"What there is to say, at most 2000 characters."`
	URL          string    `name:"url" placeholder:"URL" help:"Where to read on."`
	Level        string    `enum:"info,warning,maintenance" default:"info" help:"info, warning or maintenance."`
	Organization string    `placeholder:"ID" help:"Organization that is told. Default: all of them."`
	At           time.Time `placeholder:"TIME" help:"When it is published, such as 2026-12-01T09:00:00+09:00. Default: now."`
}

// Bounds of a notice, in characters.
const (
	maxNoticeTitle = 200
	maxNoticeBody  = 2000
)

// Validate implements kong's check after parsing.
func (c *publishCommand) Validate() error {
	if strings.TrimSpace(c.Title) == "" || utf8.RuneCountInString(c.Title) > maxNoticeTitle {
		return fmt.Errorf("--title must have 1 to %d characters", maxNoticeTitle)
	}
	if utf8.RuneCountInString(c.Body) > maxNoticeBody {
		return fmt.Errorf("--body must have at most %d characters", maxNoticeBody)
	}
	if err := checkURL(c.URL, []string{"https", "http"}); err != nil {
		return fmt.Errorf("--url %w", err)
	}
	if c.Organization != "" {
		if _, err := uuid.Parse(c.Organization); err != nil {
			return errors.New("--organization is no id")
		}
	}
	return nil
}

// Run adds the notice. The database tells the servers, and they their people.
func (c *publishCommand) Run(ctx context.Context, out *output) error {
	db, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	notice := org.Notification{
		ID: uuid.Must(uuid.NewV7()), Title: strings.TrimSpace(c.Title), Body: c.Body, URL: c.URL, Level: org.Level(c.Level),
		PublishedAt: c.At,
	}
	if c.Organization != "" {
		id := uuid.MustParse(c.Organization)
		notice.OrganizationID = &id
	}
	if err := db.PublishNotification(ctx, notice); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, notice.ID)
	return err
}
