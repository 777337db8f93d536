package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/tsumugi-ai/tsumugi/internal/identity"
	"github.com/tsumugi-ai/tsumugi/internal/japan"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/uuidv7"
	"github.com/tsumugi-ai/tsumugi/store"
)

type organizationCommand struct {
	Create organizationCreateCommand `cmd:"" help:"Create an organization with its contract and, optionally, its first super-admin."`
	Edit   organizationEditCommand   `cmd:"" help:"Change an organization's name or mail domains."`
	List   organizationListCommand   `cmd:"" help:"Show all organizations with their contracts and usage."`

	Export      organizationExportCommand      `cmd:"" help:"Write all data of an organization into an empty folder or bucket, in open formats."`
	Delete      organizationDeleteCommand      `cmd:"" help:"Lock an organization, and delete it with all its data after 30 days."`
	Certificate organizationCertificateCommand `cmd:"" help:"Print the signed certificate of an organization's deletion."`
}

// terms are the flags of a contract. A flag that is not set keeps the current value, or the default of a new
// contract.
type terms struct {
	Plan    *string `placeholder:"TEXT" help:"Name of the plan, at most 50 characters. New: スタンダード."`
	Status  *string `placeholder:"STATUS" help:"active, trial, suspended or ended. With the last two, messages are rejected. New: active."`
	Seats   *int    `placeholder:"N" help:"Maximum number of active members, including invited ones. New: 50."`
	Tokens  *int64  `placeholder:"N" help:"Maximum number of tokens a month, read and written together. New: 10000000."`
	Storage *int64  `placeholder:"GIB" help:"Maximum total size of all members' files, in GiB. New: 1024."`
	Starts  *date   `placeholder:"DATE" help:"First day, as 2026-12-01. Days are Japan's. New: today."`
	Ends    *date   `placeholder:"DATE" help:"Last day, as 2027-11-30. New: none."`
}

// date is a day such as 2026-12-01.
type date time.Time

func (d *date) UnmarshalText(text []byte) error {
	t, err := time.Parse(time.DateOnly, string(text))
	if err != nil {
		return fmt.Errorf("%q is no day, such as 2026-12-01", text)
	}
	*d = date(t)
	return nil
}

// time returns the day as midnight UTC, nil for nil.
func (d *date) time() *time.Time { return (*time.Time)(d) }

const maxPlan = 50 // Characters.

// checkTerms validates the flags of a contract.
func (t *terms) checkTerms() error {
	if t.Plan != nil && (strings.TrimSpace(*t.Plan) == "" || len([]rune(*t.Plan)) > maxPlan) {
		return fmt.Errorf("--plan must have 1 to %d characters", maxPlan)
	}
	if t.Status != nil {
		switch org.ContractStatus(*t.Status) {
		case org.ContractActive, org.ContractTrial, org.ContractSuspended, org.ContractEnded:
		default:
			return fmt.Errorf("--status must be active, trial, suspended or ended, but is %q", *t.Status)
		}
	}
	if t.Seats != nil && (*t.Seats < 0 || *t.Seats > 1_000_000) {
		return fmt.Errorf("--seats must be between 0 and 1000000")
	}
	if t.Tokens != nil && *t.Tokens < 0 {
		return fmt.Errorf("--tokens must not be negative")
	}
	if t.Storage != nil && (*t.Storage < 0 || *t.Storage > 1<<20) {
		return fmt.Errorf("--storage must be between 0 and %d", 1<<20)
	}
	return nil
}

func (t *terms) contractEdit() org.ContractEdit {
	var storage *int64
	if t.Storage != nil {
		storage = new(*t.Storage << 30)
	}
	return org.ContractEdit{
		Storage: storage, Plan: t.Plan, Status: (*org.ContractStatus)(t.Status), Seats: t.Seats, Tokens: t.Tokens,
		StartsOn: t.Starts.time(), EndsOn: t.Ends.time(),
	}
}

type organizationCreateCommand struct {
	Name           string   `required:"" placeholder:"TEXT" help:"Name of the organization, at most 100 characters."`
	Domain         []string `placeholder:"DOMAIN" help:"Mail domain of the organization, such as example.co.jp. May be repeated."`
	terms          `embed:""`
	SuperAdmin     string `placeholder:"ADDRESS" help:"Mail address of the first super-admin, who is invited. Others can be added with user create."`
	SuperAdminName string `placeholder:"TEXT" help:"Name of the first super-admin."`
	operation      `embed:""`
	enrolling      `embed:""`
}

const maxOrganizationName = 100 // Characters.

// Validate is called by kong after parsing.
func (c *organizationCreateCommand) Validate() error {
	if err := checkOrganization(&c.Name, c.Domain); err != nil {
		return err
	}
	if (c.SuperAdmin == "") != (c.SuperAdminName == "") {
		return fmt.Errorf("--super-admin and --super-admin-name go together")
	}
	if _, err := org.CleanAddress("", c.SuperAdmin); c.SuperAdmin != "" && err != nil {
		return fmt.Errorf("--super-admin %q is no mail address", c.SuperAdmin)
	}
	if err := c.checkTerms(); err != nil {
		return err
	}
	return c.checkEnrolling()
}

// Run creates the organization, prints its id, and invites its super-admin.
func (c *organizationCreateCommand) Run(ctx context.Context, db *store.DB, out *output, logs *logOutput) (err error) {
	var people accounts
	if c.SuperAdmin != "" { // Done before anything is stored, because a setting may be missing.
		var stop func()
		if people, stop, err = c.accounts(ctx, db, c.Data, out, logs); err != nil {
			return err
		}
		defer stop()
	}
	made := org.Organization{ID: uuidv7.New(), Name: c.Name, AuthType: string(identity.AuthCognito), MailDomains: c.Domain}
	if err := db.OpenOrganization(ctx, made, c.contractEdit(), operator()); err != nil {
		return err
	}
	if _, err := fmt.Fprintln(out, made.ID); err != nil || c.SuperAdmin == "" {
		return err
	}
	invitee := org.Invitee{Email: c.SuperAdmin, Name: c.SuperAdminName, Role: identity.RoleOrganizationSuperAdmin}
	if _, err := enroll(ctx, db, people, made.ID, invitee, "", logs); err != nil {
		return fmt.Errorf(
			"the organization %s was made, but not its super-admin (tsumugi user create --role "+
				"organization-super-admin tries again): %w",
			made.ID, err,
		)
	}
	return nil
}

// checkOrganization validates and normalizes a name and mail domains.
func checkOrganization(name *string, domains []string) error {
	*name = strings.TrimSpace(*name)
	if *name == "" || len([]rune(*name)) > maxOrganizationName {
		return fmt.Errorf("--name must have 1 to %d characters", maxOrganizationName)
	}
	for i, domain := range domains {
		domains[i] = strings.ToLower(strings.TrimSpace(domain))
		if _, err := org.CleanAddress("", "x@"+domains[i]); err != nil || !strings.Contains(domains[i], ".") {
			return fmt.Errorf("--domain %q is no domain, such as example.co.jp", domain)
		}
	}
	return nil
}

type organizationEditCommand struct {
	Organization string   `required:"" placeholder:"ID" help:"Organization, by its id or name."`
	Name         *string  `placeholder:"TEXT" help:"New name."`
	Domain       []string `xor:"domains" placeholder:"DOMAIN" help:"Mail domain that replaces the present ones. May be repeated."`
	NoDomains    bool     `xor:"domains" help:"Remove all mail domains."`
	AnyAddress   bool     `help:"Remove the address ranges, so that members can connect from any address."`
	operation    `embed:""`
}

// Validate is called by kong after parsing.
func (c *organizationEditCommand) Validate() error {
	if c.Name == nil && len(c.Domain) == 0 && !c.NoDomains && !c.AnyAddress {
		return fmt.Errorf("nothing to change: give --name, --domain, --no-domains or --any-address")
	}
	name := "unchanged"
	if c.Name != nil {
		name = *c.Name
	}
	if err := checkOrganization(&name, c.Domain); err != nil || c.Name == nil {
		return err
	}
	*c.Name = name
	return nil
}

// Run changes the organization and prints the result.
func (c *organizationEditCommand) Run(ctx context.Context, db *store.DB, out *output) error {
	found, err := findOrganization(ctx, db, c.Organization)
	if err != nil {
		return err
	}
	if c.AnyAddress {
		if err := db.ClearAddressRanges(ctx, found.ID, operator()); err != nil {
			return err
		}
	}
	domains := c.Domain
	if c.NoDomains {
		domains = []string{}
	}
	changed, err := db.EditOrganization(ctx, found.ID, c.Name, domains, operator())
	if err != nil {
		return err
	}
	return table{
		{"ID", changed.ID.String()},
		{"NAME", changed.Name},
		{"DOMAINS", strings.Join(changed.MailDomains, " ")},
	}.write(out)
}

type organizationListCommand struct {
	operation `embed:""`
}

// Run prints the organizations as a table.
func (c *organizationListCommand) Run(ctx context.Context, db *store.DB, out *output) error {
	list, err := db.ListOrganizations(ctx)
	if err != nil {
		return err
	}
	rows := table{{
		"ID", "NAME", "DOMAINS", "SIGN-IN", "PLAN", "STATUS", "STARTS", "ENDS", "SEATS",
		"TOKENS THIS MONTH",
	}}
	for _, o := range list {
		signIn := "password"
		if o.AuthType == string(identity.AuthFederated) {
			signIn = "single sign-on"
		}
		status := string(o.Status)
		if o.DeletesAt != nil {
			status = "deleted from " + day(new(o.DeletesAt.In(japan.Zone)))
		}
		rows.add(o.ID.String(), o.Name, strings.Join(o.MailDomains, " "), signIn, o.Plan, status,
			day(&o.StartsOn), day(o.EndsOn),
			fmt.Sprintf("%d/%d", o.SeatsUsed, o.Seats), fmt.Sprintf("%d/%d", o.TokensUsed, o.Tokens))
	}
	return rows.write(out)
}

// day formats a day that may be nil.
func day(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Format(time.DateOnly)
}

type contractCommand struct {
	Set contractSetCommand `cmd:"" help:"Change an organization's contract. It takes effect within five seconds."`
}

type contractSetCommand struct {
	Organization string `required:"" placeholder:"ID" help:"Organization, by its id or name."`
	terms        `embed:""`
	Open         bool `help:"Remove the last day."`
	operation    `embed:""`
}

// Validate is called by kong after parsing.
func (c *contractSetCommand) Validate() error {
	if c.terms == (terms{}) && !c.Open {
		return fmt.Errorf(
			"nothing to change: give --plan, --status, --seats, --tokens, --storage, --starts, --ends or --open",
		)
	}
	if c.Open && c.Ends != nil {
		return fmt.Errorf("--open and --ends exclude each other")
	}
	return c.checkTerms()
}

// Run changes the contract and prints the result.
func (c *contractSetCommand) Run(ctx context.Context, db *store.DB, out *output) error {
	found, err := findOrganization(ctx, db, c.Organization)
	if err != nil {
		return err
	}
	edit := c.contractEdit()
	edit.Open = c.Open
	contract, err := db.SetContract(ctx, found.ID, edit, operator())
	if err != nil {
		return err
	}
	return table{
		{"ORGANIZATION", found.Name},
		{"PLAN", contract.Plan},
		{"STATUS", string(contract.Status)},
		{"SEATS", strconv.Itoa(contract.Seats)},
		{"TOKENS A MONTH", strconv.FormatInt(contract.Tokens, 10)},
		{"STORAGE (GIB)", strconv.FormatInt(contract.Storage>>30, 10)},
		{"STARTS", day(&contract.StartsOn)},
		{"ENDS", day(contract.EndsOn)},
	}.write(out)
}
