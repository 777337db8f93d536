package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/channel"
	"github.com/tsumugi-ai/tsumugi/internal/slack"
	"github.com/tsumugi-ai/tsumugi/store"
)

type slackCommand struct {
	List       slackListCommand       `cmd:"" help:"List the workspaces that are connected."`
	Show       slackShowCommand       `cmd:"" help:"Show an organization's connection, without secrets."`
	Test       slackTestCommand       `cmd:"" help:"Test an organization's connection."`
	Links      slackLinksCommand      `cmd:"" help:"List the members who are linked with Slack."`
	Disconnect slackDisconnectCommand `cmd:"" help:"Disconnect an organization, and delete its tokens and links."`
}

type slackListCommand struct {
	operation `embed:""`
}

// Run prints all installations.
func (c *slackListCommand) Run(ctx context.Context, db *store.DB, out *output) error {
	all, err := db.ListInstallations(ctx, slack.Name)
	if err != nil {
		return err
	}
	t := table{{"ORGANIZATION", "WORKSPACE", "ID", "BY", "LINKS"}}
	for _, in := range all {
		organization, err := db.FindOrganization(ctx, in.OrganizationID)
		if err != nil {
			return err
		}
		_, links, err := db.ListLinks(ctx, in.OrganizationID, slack.Name, 0, 1)
		if err != nil {
			return err
		}
		t.add(organization.Name, in.TeamName, in.TeamID+in.EnterpriseID, string(in.Source), strconv.Itoa(links))
	}
	return t.write(out)
}

// ofOrganization holds the flag for the organization of a Slack command.
type ofOrganization struct {
	Organization string `required:"" placeholder:"ID" help:"Organization, by its id or name."`
	operation    `embed:""`
}

// installation returns the organization's installation. An installation from the environment is returned without
// credentials.
func (c *ofOrganization) installation(ctx context.Context, db *store.DB) (channel.Installation, error) {
	found, err := findOrganization(ctx, db, c.Organization)
	if err != nil {
		return channel.Installation{}, err
	}
	in, err := db.OrganizationInstallation(ctx, found.ID, slack.Name)
	return in, c.explain(err)
}

// explain names the organization in an error of the store.
func (c *ofOrganization) explain(err error) error {
	if errors.Is(err, channel.ErrNotInstalled) {
		return fmt.Errorf("--organization %q is not connected with Slack", c.Organization)
	}
	return err
}

type slackShowCommand struct {
	ofOrganization `embed:""`
}

// Run prints an installation.
func (c *slackShowCommand) Run(ctx context.Context, db *store.DB, out *output) error {
	in, err := c.installation(ctx, db)
	if err != nil {
		return err
	}
	channels := cmp.Or(strings.Join(in.Policy.Channels, " "), "all that the app is in")
	t := table{
		{"workspace", in.TeamName},
		{"id", in.TeamID + in.EnterpriseID},
		{"app", in.AppID},
		{"configured by", string(in.Source)},
		{"bot token", set(in.Credentials.BotToken)},
		{"signing secret", set(in.Credentials.SigningSecret)},
		{"app token", set(in.Credentials.AppToken)},
		{"client id", in.Credentials.ClientID},
		{"client secret", set(in.Credentials.ClientSecret)},
		{"links by mail address", strconv.FormatBool(in.Policy.AutoLink)},
		{"shared channels", strconv.FormatBool(in.Policy.SharedChannels)},
		{"channels", channels},
	}
	return t.write(out)
}

// set reports in words whether a secret is set.
func set(secret string) string {
	if secret == "" {
		return "–"
	}
	return "set"
}

type slackTestCommand struct {
	ofOrganization `embed:""`
	slackSettings  `embed:""`
}

var (
	errSlackTest       = errors.New("the connection does not work as it should")
	errNoSlackSettings = errors.New("the server's settings configure this connection: set SLACK_BOT_TOKEN and the " +
		"others as they are set for the server")
)

// Validate is called by kong after parsing.
func (c *slackTestCommand) Validate() error { return c.checkSlack() }

// Run checks that the installation's credentials and permissions work.
func (c *slackTestCommand) Run(ctx context.Context, db *store.DB, out *output, logs *logOutput) error {
	in, err := c.installation(ctx, db)
	if err != nil {
		return err
	}
	domain, err := newSlackSetup(c.slackSettings, db, "", !c.SecretKey.Empty(), commandLog(logs))
	if err != nil {
		return err
	}
	defer domain.adapter.Close()
	in, err = domain.setup.Installation(ctx, in.ID)
	switch {
	case errors.Is(err, channel.ErrNotInstalled):
		return errNoSlackSettings
	case err != nil:
		return err
	}
	failed := false
	t := table{{"CHECK", "", "FOUND"}}
	for _, check := range domain.adapter.Check(ctx, in) {
		state := "ok"
		if !check.OK {
			failed, state = true, "FAILED"
		}
		t.add(check.Name, state, check.Detail)
	}
	if err := t.write(out); err != nil || !failed {
		return err
	}
	return errSlackTest
}

type slackLinksCommand struct {
	ofOrganization `embed:""`
}

// listedLinks is the number of links per page.
const listedLinks = 500

// Run prints an organization's links, the last linked first.
func (c *slackLinksCommand) Run(ctx context.Context, db *store.DB, out *output) error {
	in, err := c.installation(ctx, db)
	if err != nil {
		return err
	}
	t := table{{"MEMBER", "SLACK", "NAME", "BY", "SINCE"}}
	for offset := 0; ; offset += listedLinks {
		links, total, err := db.ListLinks(ctx, in.OrganizationID, slack.Name, offset, listedLinks)
		if err != nil {
			return err
		}
		for _, l := range links {
			by := "sign-in"
			if l.Automatic {
				by = "mail address"
			}
			t.add(l.UserEmail, l.Person, l.Name, by, l.CreatedAt.UTC().Format(time.RFC3339))
		}
		if offset+len(links) >= total || len(links) == 0 {
			return t.write(out)
		}
	}
}

type slackDisconnectCommand struct {
	ofOrganization `embed:""`
}

// Run removes an installation.
func (c *slackDisconnectCommand) Run(ctx context.Context, db *store.DB, out *output) error {
	found, err := findOrganization(ctx, db, c.Organization)
	if err != nil {
		return err
	}
	if err := db.RemoveInstallation(ctx, operator(), found.ID, slack.Name); err != nil {
		return c.explain(err)
	}
	_, err = fmt.Fprintf(out, "%s is disconnected. Remove the app from the workspace at Slack, too.\n", found.Name)
	return err
}
