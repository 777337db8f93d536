package main

import (
	"context"
	"fmt"
	"log/slog"
	"os/user"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/api"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/store"
	"github.com/tsumugi-ai/tsumugi/store/postgres"
)

// operation is shared by the operator commands: it connects to the database that the server uses.
type operation struct {
	DatabaseURL string `env:"DATABASE_URL" placeholder:"URL" help:"PostgreSQL that the servers use. Default: the one of the server that runs on the data folder."`
	Data        string `env:"TSUMUGI_DATA" default:"./data" type:"path" help:"Data folder of the running server."`

	sealing `embed:""`

	db *store.DB // Set by open.
}

// AfterApply is called by kong before Run, which may have the database as an argument.
func (o *operation) AfterApply(command *kong.Context) error {
	return command.BindSingletonProvider(o.open)
}

// AfterRun is called by kong after Run, even if that returns an error.
func (o *operation) AfterRun() error { //nolint:unparam // kong requires a result.
	if o.db != nil {
		o.db.Close()
	}
	return nil
}

// open connects to the servers' database. AfterRun closes the connections.
func (o *operation) open(ctx context.Context) (*store.DB, error) {
	dsn := o.DatabaseURL
	if dsn == "" {
		var err error
		if dsn, err = postgres.Running(databaseDir(o.Data)); err != nil {
			return nil, fmt.Errorf(
				"%w; start the server, or name its --data (TSUMUGI_DATA) or --database-url (DATABASE_URL)", err,
			)
		}
	}
	db, err := store.Open(ctx, dsn)
	if err != nil {
		return nil, err
	}
	o.db = db.WithSecrets(o.SecretKey)
	return o.db, nil
}

// findOrganization returns the organization with the id or name given by a flag or an argument.
func findOrganization(ctx context.Context, db *store.DB, given string) (org.Organization, error) {
	if id, err := uuid.Parse(given); err == nil {
		return db.FindOrganization(ctx, id)
	}
	all, err := db.ListOrganizations(ctx)
	if err != nil {
		return org.Organization{}, err
	}
	var found []org.Organization
	for _, o := range all {
		if o.Name == given {
			found = append(found, o.Organization)
		}
	}
	switch len(found) {
	case 0:
		return org.Organization{}, fmt.Errorf(
			"organization %q: there is none with this id or name; tsumugi org list shows them", given,
		)
	case 1:
		return found[0], nil
	default:
		return org.Organization{}, fmt.Errorf("organization %q: %d have this name; give the id", given, len(found))
	}
}

// findOrganizationIfGiven returns the id of the organization given by a flag, or nil if the flag is not set.
func findOrganizationIfGiven(ctx context.Context, db *store.DB, given string) (*uuid.UUID, error) {
	if given == "" {
		return nil, nil
	}
	found, err := findOrganization(ctx, db, given)
	return &found.ID, err
}

// operator returns the operating system user for the audit log.
func operator() org.AuditActor {
	account, err := user.Current()
	if err != nil {
		return org.Operator("unknown")
	}
	return org.Operator(strings.TrimSpace(account.Username))
}

// commandLog returns the log of a command: warnings and errors only, because the command prints its result.
func commandLog(logs *logOutput) *slog.Logger {
	return slog.New(api.NewLogHandler(slog.NewTextHandler(logs, &slog.HandlerOptions{Level: slog.LevelWarn})))
}
