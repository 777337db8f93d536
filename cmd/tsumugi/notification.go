package main

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
	"github.com/tsumugi-ai/tsumugi/store"
)

type notificationCommand struct {
	Publish publishCommand `cmd:"" help:"Publish a notice: it appears in members' open tabs at once, and under the bell."`
}

type publishCommand struct {
	Title        string `required:"" placeholder:"TEXT" help:"Title, one line of at most 200 characters."`
	Body         string `placeholder:"TEXT" help:"Text of the notice, at most 2000 characters."`
	URL          string `name:"url" placeholder:"URL" help:"Page with details."`
	Level        string `enum:"info,warning,maintenance" default:"info" help:"info, warning or maintenance."`
	Audience     string `enum:"all,admins" default:"all" help:"all, or admins for those who administer an organization."`
	Organization string `placeholder:"ID" help:"Organization that receives the notice, by its id or name. Default: all organizations."`
	At           string `placeholder:"TIME" help:"Time of publication, such as 2026-12-01T09:00:00+09:00. Default: now."`
	operation    `embed:""`

	at time.Time
}

// Validate is called by kong after parsing.
func (c *publishCommand) Validate() (err error) {
	if strings.TrimSpace(c.Title) == "" || utf8.RuneCountInString(c.Title) > org.MaxNoticeTitle {
		return fmt.Errorf("--title must have 1 to %d characters", org.MaxNoticeTitle)
	}
	if utf8.RuneCountInString(c.Body) > org.MaxNoticeBody {
		return fmt.Errorf("--body must have at most %d characters", org.MaxNoticeBody)
	}
	if err := checkURL(c.URL, []string{"https", "http"}); err != nil {
		return fmt.Errorf("--url %w", err)
	}
	if c.at, err = moment(c.At, 0); err != nil {
		return fmt.Errorf("--at %w", err)
	}
	return nil
}

// Run adds the notice. The database notifies the servers, which notify their clients.
func (c *publishCommand) Run(ctx context.Context, db *store.DB, out *output) (err error) {
	notice := org.Notification{
		ID: uuidv7.New(), Title: strings.TrimSpace(c.Title), Body: c.Body, URL: c.URL, Level: org.Level(c.Level),
		Audience: org.Audience(c.Audience), PublishedAt: c.at,
	}
	if notice.OrganizationID, err = findOrganizationIfGiven(ctx, db, c.Organization); err != nil {
		return err
	}
	if err := db.Announce(ctx, notice, operator()); err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, notice.ID)
	return err
}
