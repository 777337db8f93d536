package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsumugi-ai/tsumugi/internal/skill"
)

type skillCommand struct {
	Import skillImportCommand `cmd:"" help:"Add, change and retire skills according to a YAML file. Importing it again changes nothing."`
}

type skillImportCommand struct {
	File         string `arg:"" type:"existingfile" help:"File with categories and skills; docs/skills.md describes it."`
	Organization string `xor:"whose" placeholder:"ID" help:"Organization that gets the skills, by its id or name."`
	All          bool   `xor:"whose" help:"All organizations get the skills."`
	DryRun       bool   `help:"Only print the changes, without making them."`
	operation    `embed:""`
}

// Validate is called by kong after parsing.
func (c *skillImportCommand) Validate() error {
	if c.Organization == "" && !c.All {
		return errors.New("whose skills are they: --organization or --all")
	}
	return nil
}

// Run imports the file and prints the result for each skill.
func (c *skillImportCommand) Run(ctx context.Context, out *output) error {
	data, err := readStart(c.File, skill.MaxImportSize+1)
	if err != nil {
		return err
	}
	parsed, err := skill.ParseImport(data)
	if err != nil {
		return fmt.Errorf("%s:\n%w", c.File, err)
	}
	db, err := c.open(ctx)
	if err != nil {
		return err
	}
	organization, err := findOrganizationIfGiven(ctx, db, c.Organization)
	if err != nil {
		return err
	}
	outcome, err := db.ImportSkills(ctx, organization, parsed, operator(), c.DryRun)
	if err != nil {
		return err
	}
	rows := table{{"KEY", "NAME", "CHANGE"}}
	for _, done := range outcome {
		rows.add(done.Key, done.Name, string(done.Change))
	}
	if err := rows.write(out); err != nil || !c.DryRun {
		return err
	}
	_, err = fmt.Fprintln(out, "Nothing was saved: this was a dry run.")
	return err
}
