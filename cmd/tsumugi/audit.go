package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/japan"
	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/store"
)

type auditCommand struct {
	Organization string `placeholder:"ID" help:"Only entries of this organization, given by its id or name."`
	Action       string `placeholder:"ACTION" help:"Only entries of this action, such as member.invite or contract.set."`
	Kind         string `placeholder:"KIND" enum:",sign_in,administration" default:"" help:"Only entries of this kind: sign_in (sign-ins and passwords) or administration."`
	From         string `placeholder:"TIME" help:"Only entries since this time: a day in Japan, as 2026-12-01, or a time, as 2026-12-01T09:00:00+09:00."`
	To           string `placeholder:"TIME" help:"Only entries before this time; a day is included."`
	Limit        int    `default:"100" placeholder:"N" help:"Maximum number of entries; the newest ones are shown."`
	JSON         bool   `name:"json" help:"A line of JSON for each entry instead of a table."`
	operation    `embed:""`

	from, to time.Time
}

const maxAuditLimit = 100_000

// Validate is called by kong after parsing.
func (c *auditCommand) Validate() (err error) {
	if c.Limit < 1 || c.Limit > maxAuditLimit {
		return fmt.Errorf("--limit must be between 1 and %d", maxAuditLimit)
	}
	if action := org.Action(c.Action); action != "" && !slices.Contains(org.Actions(), action) {
		return fmt.Errorf("--action %q is none of %v", action, org.Actions())
	}
	if c.from, err = moment(c.From, 0); err != nil {
		return fmt.Errorf("--from %w", err)
	}
	if c.to, err = moment(c.To, 1); err != nil {
		return fmt.Errorf("--to %w", err)
	}
	return nil
}

// moment parses a time, or a day in Japan plus a number of days. "" is the zero time.
func moment(given string, days int) (time.Time, error) {
	if given == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339, given); err == nil {
		return t, nil
	}
	t, err := time.ParseInLocation(time.DateOnly, given, japan.Zone)
	if err != nil {
		return t, fmt.Errorf("%q is no time, such as 2026-12-01 or 2026-12-01T09:00:00+09:00", given)
	}
	return t.AddDate(0, 0, days), nil
}

// Run prints the audit log, oldest entry first.
func (c *auditCommand) Run(ctx context.Context, db *store.DB, out *output) error {
	organization, err := findOrganizationIfGiven(ctx, db, c.Organization)
	if err != nil {
		return err
	}
	events, total, err := db.ListEvents(ctx, org.AuditQuery{
		OrganizationID: organization, Kind: org.EventKind(c.Kind), Action: org.Action(c.Action), From: c.from, To: c.to,
		Limit: c.Limit,
	})
	if err != nil {
		return err
	}
	slices.Reverse(events)
	if c.JSON {
		return writeEvents(out, events)
	}
	rows := table{{"TIME", "WHO", "ACTION", "WHAT", "CHANGES", "FROM"}}
	for _, e := range events {
		rows.add(e.At.Local().Format(time.RFC3339), who(e.By), string(e.Action), e.TargetLabel, changes(e), from(e.By))
	}
	if err := rows.write(out); err != nil || total <= len(events) {
		return err
	}
	older := strconv.Itoa(total - len(events))
	if total == org.MaxEvents {
		older += " or more"
	}
	_, err = fmt.Fprintf(out, "%s older entries are not shown; see --limit.\n", older)
	return err
}

// who names the actor of an entry.
func who(by org.AuditActor) string {
	switch by.Kind {
	case org.ByMember:
		return by.Name + " <" + by.Email + ">"
	case org.ByOperator:
		return "operator " + by.Name
	default:
		return string(by.Kind)
	}
}

// from formats the origin of an entry.
func from(by org.AuditActor) string {
	if !by.Address.IsValid() {
		return "-"
	}
	return by.Address.String()
}

// changes formats the changed fields, and the count of a combined entry.
func changes(e org.Event) string {
	parts := make([]string, len(e.Details))
	for i, d := range e.Details {
		parts[i] = d.Field + ": " + d.After
		if d.Before != "" {
			parts[i] = d.Field + ": " + d.Before + " → " + d.After
		}
	}
	if e.Times > 1 {
		parts = append(parts, fmt.Sprintf("%d times in an hour", e.Times))
	}
	return strings.Join(parts, ", ")
}

// auditLine is an entry as JSON. Its field names are those of the API.
type auditLine struct {
	ID             uuid.UUID     `json:"id"`
	At             time.Time     `json:"at"`
	OrganizationID *uuid.UUID    `json:"organization_id,omitempty"`
	ActorKind      org.ActorKind `json:"actor_kind"`
	ActorID        *uuid.UUID    `json:"actor_id,omitempty"`
	ActorName      string        `json:"actor_name,omitempty"`
	ActorEmail     string        `json:"actor_email,omitempty"`
	Action         org.Action    `json:"action"`
	TargetKind     string        `json:"target_kind"`
	TargetID       string        `json:"target_id,omitempty"`
	TargetLabel    string        `json:"target_label"`
	Details        []org.Change  `json:"details"`
	Address        string        `json:"address,omitempty"`
	RequestID      string        `json:"request_id,omitempty"`
	Times          int           `json:"times"`
	LastAt         *time.Time    `json:"last_at,omitempty"`
}

func writeEvents(out *output, events []org.Event) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	for _, e := range events {
		line := auditLine{
			ID: e.ID, At: e.At.UTC(), OrganizationID: e.OrganizationID, ActorKind: e.By.Kind, ActorID: e.By.ID,
			ActorName:  e.By.Name,
			ActorEmail: e.By.Email, Action: e.Action, TargetKind: e.TargetKind, TargetID: e.TargetID,
			TargetLabel: e.TargetLabel,
			Details:     append([]org.Change{}, e.Details...), RequestID: e.By.RequestID, Times: e.Times,
			LastAt: e.LastAt,
		}
		if e.By.Address.IsValid() {
			line.Address = e.By.Address.String()
		}
		if err := encoder.Encode(line); err != nil {
			return err
		}
	}
	return nil
}
