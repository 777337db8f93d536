package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/store"
)

type userCommand struct {
	Create  userCreateCommand  `cmd:"" help:"Add a member: with an invitation by mail, or with a password."`
	Disable userDisableCommand `cmd:"" help:"Prevent a member from signing in, and close their open connections."`
	Enable  userEnableCommand  `cmd:"" help:"Let a member sign in again."`

	ResetFactor userResetFactorCommand `cmd:"" help:"Remove a member's second factor, and end their sessions."`
}

// enrolling holds the settings of commands that change accounts at the identity provider.
type enrolling struct {
	PublicURL string `env:"TSUMUGI_PUBLIC_URL" default:"http://127.0.0.1:8080" placeholder:"URL" help:"URL at which people reach the server, for links in mails. Default: http://127.0.0.1:8080."`
	cognito   `embed:""`
	mailing   `embed:""`
}

// checkEnrolling validates these settings.
func (e *enrolling) checkEnrolling() error {
	if err := checkURL(e.PublicURL, []string{"http", "https"}); err != nil {
		return fmt.Errorf("--public-url (TSUMUGI_PUBLIC_URL) %w", err)
	}
	if err := e.checkCognito(); err != nil {
		return err
	}
	return e.checkMail()
}

// stopTimeout bounds the wait for mails that are being sent.
const stopTimeout = 10 * time.Second

// accounts returns the org.Accounts of the configured identity provider. The caller must call stop.
func (e *enrolling) accounts(ctx context.Context, db *store.DB, data string, out *output, logs *logOutput) (_ accounts,
	stop func(), err error,
) {
	url := strings.TrimRight(e.PublicURL, "/")
	log := commandLog(logs)
	mailer, err := e.mailer(data, url, out, log)
	if err != nil {
		return accounts{}, nil, err
	}
	a, err := e.openAccounts(ctx, db, url, mailer, log)
	stop = func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		if a.users != nil {
			a.users.Stop(ctx)
		}
	}
	return a, stop, err
}

// enroll adds a member with a password, or with an invitation if the password is "".
func enroll(
	ctx context.Context, db *store.DB, a accounts, organizationID uuid.UUID, invitee org.Invitee, password string,
	logs *logOutput,
) (org.Member, error) {
	given := &withPassword{accounts: a, password: password}
	people := org.Accounts(a)
	if password != "" {
		people = given
	}
	member, err := org.NewService(db, people, nil, commandLog(logs)).Enroll(ctx, operator(), organizationID, invitee)
	if err != nil && given.refused != nil {
		err = given.refused
	}
	return member, err
}

type userCreateCommand struct {
	Organization  string `required:"" placeholder:"ID" help:"Organization, by its id or name."`
	Email         string `required:"" placeholder:"ADDRESS" help:"Mail address."`
	Name          string `required:"" placeholder:"TEXT" help:"Name of the member, at most 100 characters."`
	Role          string `enum:"general-user,organization-admin,organization-super-admin" default:"general-user" help:"general-user, organization-admin or organization-super-admin."`
	PasswordStdin bool   `help:"Read their password from standard input and send no mail. Not with AWS Cognito."`
	operation     `embed:""`
	enrolling     `embed:""`
}

// Validate is called by kong after parsing.
func (c *userCreateCommand) Validate() error {
	if _, err := org.CleanAddress("", c.Email); err != nil {
		return fmt.Errorf("--email %q is no mail address", c.Email)
	}
	if c.PasswordStdin && c.CognitoUserPoolID != "" {
		return errors.New("--password-stdin does not go with AWS Cognito: passwords are made there")
	}
	return c.checkEnrolling()
}

// Run adds the member and prints their id.
func (c *userCreateCommand) Run(ctx context.Context, in *input, out *output, logs *logOutput) error {
	password := ""
	if c.PasswordStdin {
		var err error
		if password, err = readPassword(in); err != nil {
			return err
		}
	}
	db, err := c.open(ctx)
	if err != nil {
		return err
	}
	found, err := findOrganization(ctx, db, c.Organization)
	if err != nil {
		return err
	}
	people, stop, err := c.accounts(ctx, db, c.Data, out, logs)
	if err != nil {
		return err
	}
	defer stop()
	invitee := org.Invitee{Email: c.Email, Name: c.Name, Role: identity.Role(c.Role)}
	member, err := enroll(ctx, db, people, found.ID, invitee, password, logs)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(out, member.ID)
	return err
}

// maxPasswordLine bounds the input for a password, in bytes.
const maxPasswordLine = 4096

// readPassword reads one line.
func readPassword(in io.Reader) (string, error) {
	line, err := bufio.NewReader(io.LimitReader(in, maxPasswordLine)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	if line = strings.TrimRight(line, "\r\n"); line == "" {
		return "", errors.New("--password-stdin: there is no password on standard input")
	}
	return line, nil
}

// memberOperation is shared by the commands about one member.
type memberOperation struct {
	Email     string `required:"" placeholder:"ADDRESS" help:"Mail address of the member."`
	operation `embed:""`
	enrolling `embed:""`
}

// Validate is called by kong after parsing.
func (c *memberOperation) Validate() error { return c.checkEnrolling() }

// do changes the member and prints the result.
func (c *memberOperation) do(
	ctx context.Context, db *store.DB, out *output, logs *logOutput,
	change func(s *org.Service, ctx context.Context, by org.AuditActor, email string) (org.Member, error),
) error {
	a, stop, err := c.accounts(ctx, db, c.Data, out, logs)
	if err != nil {
		return err
	}
	defer stop()
	member, err := change(org.NewService(db, a, nil, commandLog(logs)), ctx, operator(), c.Email)
	if err != nil {
		return err
	}
	return table{{"ID", "NAME", "EMAIL", "ROLE", "STATE"}, {
		member.ID.String(), member.Name, member.Email, string(member.Role), string(member.State),
	}}.write(out)
}

type userDisableCommand struct {
	memberOperation `embed:""`
}

// Run makes the member inactive.
func (c *userDisableCommand) Run(ctx context.Context, db *store.DB, out *output, logs *logOutput) error {
	return c.do(ctx, db, out, logs, (*org.Service).DisableMember)
}

type userEnableCommand struct {
	memberOperation `embed:""`
}

// Run makes the member active if there is a free seat.
func (c *userEnableCommand) Run(ctx context.Context, db *store.DB, out *output, logs *logOutput) error {
	return c.do(ctx, db, out, logs, (*org.Service).EnableMember)
}

type userResetFactorCommand struct {
	memberOperation `embed:""`
}

// Run removes the second factor of the member.
func (c *userResetFactorCommand) Run(ctx context.Context, db *store.DB, out *output, logs *logOutput) error {
	return c.do(ctx, db, out, logs, (*org.Service).ResetFactor)
}
