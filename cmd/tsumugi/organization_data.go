package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/backup"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/store"
)

type organizationExportCommand struct {
	Organization string `arg:"" name:"id" help:"Organization, by its id or name."`
	Target       string `arg:"" help:"Empty folder, as a path or file:///srv/export, or bucket, as s3://name?region=ap-northeast-1."`

	operation    `embed:""`
	fileSettings `embed:""`
}

// Validate is called by kong after parsing.
func (c *organizationExportCommand) Validate() error {
	return errors.Join(c.checkFiles(), checkTarget(c.Target))
}

// Run writes the export and prints a summary.
func (c *organizationExportCommand) Run(ctx context.Context, db *store.DB, out *output, logs *logOutput) error {
	found, err := findOrganization(ctx, db, c.Organization)
	if err != nil {
		return err
	}
	files, err := c.openFiles(ctx, c.Data)
	if err != nil {
		return err
	}
	defer func() { _ = files.Close() }()
	target, err := openLocation(ctx, c.Target)
	if err != nil {
		return fmt.Errorf("the target: %w", err)
	}
	defer func() { _ = target.Close() }()
	began := time.Now()
	made, err := backup.Export(ctx, db, files, target, found.ID, version, newProgress(logs).report)
	if err != nil {
		return err
	}
	records := 0
	for _, r := range made.Records {
		records += r.Count
	}
	_, err = fmt.Fprintf(out, "Exported %s: %d records of %d kinds and %d files, in %v.\n", found.Name, records,
		len(made.Records), len(made.Files), time.Since(began).Round(time.Millisecond))
	return err
}

type organizationDeleteCommand struct {
	Organization string `arg:"" name:"id" help:"Organization, by its id or name."`
	Cancel       bool   `xor:"when" help:"Cancel the deletion, if it has not started. Members can sign in again."`
	Now          bool   `xor:"when" help:"Delete at once, without the 30 days. Needs --confirm."`
	Confirm      string `placeholder:"NAME" help:"With --now: the name of the organization."`
	operation    `embed:""`
}

// Validate is called by kong after parsing.
func (c *organizationDeleteCommand) Validate() error {
	if c.Now != (c.Confirm != "") {
		return errors.New("--now and --confirm go together")
	}
	return nil
}

// Run requests the deletion, or cancels it, and prints the result.
func (c *organizationDeleteCommand) Run(ctx context.Context, db *store.DB, out *output) error {
	found, err := findOrganization(ctx, db, c.Organization)
	if err != nil {
		return err
	}
	if c.Cancel {
		if err := db.CancelDeletion(ctx, found.ID, operator()); err != nil {
			return err
		}
		_, err := fmt.Fprintf(out, "%s is not deleted. Its members can sign in again.\n", found.Name)
		return err
	}
	grace := org.DeletionGrace
	if c.Now {
		if c.Confirm != found.Name {
			return fmt.Errorf("--confirm %q is not the name of the organization, %q", c.Confirm, found.Name)
		}
		grace = 0
	}
	deletion, err := db.RequestDeletion(ctx, found.ID, grace, operator())
	if err != nil {
		return err
	}
	return table{
		{"ORGANIZATION", deletion.ID.String()},
		{"NAME", deletion.Name},
		{"DELETED FROM", deletion.DeletesAt.UTC().Format(time.RFC3339)},
		{"MEMBERS", "cannot sign in"},
	}.write(out)
}

type organizationCertificateCommand struct {
	Organization uuid.UUID `arg:"" name:"id" help:"Id of the deleted organization."`
	operation    `embed:""`
}

// Run prints the certificate.
func (c *organizationCertificateCommand) Run(ctx context.Context, db *store.DB, out *output) error {
	deletion, err := db.FindDeletion(ctx, c.Organization)
	switch {
	case err != nil:
		return err
	case deletion.Certificate != "":
		_, err := io.WriteString(out, deletion.Certificate)
		return err
	case deletion.StartedAt == nil:
		return fmt.Errorf("%s is deleted from %s on", deletion.Name, deletion.DeletesAt.UTC().Format(time.RFC3339))
	default:
		return fmt.Errorf("the deletion of %s is in progress; the certificate is made when all rows, accounts and files are "+
			"deleted", deletion.Name)
	}
}
