package siem_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/tsumugi-ai/tsumugi/internal/org"
	"github.com/tsumugi-ai/tsumugi/internal/siem"
	"github.com/tsumugi-ai/tsumugi/test/must"
)

// TestEventsAreValidOCSF maps events of every action, and of one that is not known, by every kind of actor, with all
// values and with as few as possible. A program in a separate module checks them against the schema 1.2.0 as published
// by others (test/ocsf).
func TestEventsAreValidOCSF(t *testing.T) {
	t.Parallel()
	var names []string
	var events bytes.Buffer
	for _, action := range append(slices.Clone(org.Actions()), "moon.land") {
		for name, e := range variants(action) {
			names = append(names, fmt.Sprintf("%s, %s", action, name))
			origin := siem.Origin{Host: "tsumugi.example.com", Version: "0.1.0"}
			must.Succeed(t, json.NewEncoder(&events).Encode(origin.OCSF(e)))
		}
	}
	results := json.NewDecoder(bytes.NewReader(checkOCSF(t, events.Bytes())))
	for _, name := range names {
		var problems []string
		if err := results.Decode(&problems); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, problem := range problems {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

// TestOCSFCheckFindsErrors checks events with one error each, so that the check itself is tested.
func TestOCSFCheckFindsErrors(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(e map[string]any)
		want   string
	}{
		{"class", func(e map[string]any) { e["class_uid"] = 3999 }, "class_uid: 3999 is not a class"},
		{"type", func(e map[string]any) { e["type_uid"] = 300102 }, "type_uid: is 300102"},
		{"activity", func(e map[string]any) { e["activity_id"] = 12 }, "activity_id: does not have the value 12"},
		{"caption", func(e map[string]any) { e["activity_name"] = "Made" }, `activity_name: is "Made"`},
		{"required", func(e map[string]any) { delete(e, "user") }, "user: is required"},
		{"name", func(e map[string]any) { e["entity"] = map[string]any{"uid": "1"} }, "entity: is not an attribute"},
		{"kind", func(e map[string]any) { e["time"] = "yesterday" }, "time: is no integer"},
		{"version", func(e map[string]any) { e["metadata"].(map[string]any)["version"] = "9" }, "metadata.version: is 9"},
		{
			"constraint", func(e map[string]any) { e["user"] = map[string]any{"email_addr": "a@example.com"} },
			"user.: needs one of",
		},
	}
	var events bytes.Buffer
	for _, tt := range tests {
		e := siem.Origin{Host: "tsumugi.example.com", Version: "0.1.0"}.OCSF(variants("user.create")["all values"])
		tt.change(e)
		must.Succeed(t, json.NewEncoder(&events).Encode(e))
	}
	lines := strings.Split(string(checkOCSF(t, events.Bytes())), "\n")
	for i, tt := range tests {
		text := strings.ReplaceAll(lines[i], `\"`, `"`)
		if !strings.Contains(text, tt.want) {
			t.Errorf("%s: the problems are %s, want %q", tt.name, text, tt.want)
		}
	}
}

// variants returns events of an action.
func variants(action org.Action) map[string]siem.Event {
	at, id := time.Date(2026, 11, 28, 9, 0, 0, 0, time.UTC), uuid.New()
	later := at.Add(time.Minute)
	all := siem.Event{OrganizationName: "青空商事", Revision: 1}
	all.ID, all.At, all.Action, all.OrganizationID, all.Times, all.LastAt = id, at, action, &id, 3, &later
	all.TargetKind, all.TargetID, all.TargetLabel = "user", id.String(), "b@example.com"
	all.Details = []org.Change{{Field: "outcome", Before: "", After: "failure"}}
	all.By = org.AuditActor{
		Kind: org.ByMember, ID: &id, Name: "山田", Email: "a@example.com", RequestID: "r1",
		Address: netip.MustParseAddr("2001:db8::1"),
	}
	events := map[string]siem.Event{"all values": all}
	for _, kind := range []org.ActorKind{
		org.ByMember, org.ByOperator, org.BySystem, org.ByUnknown, org.ByProvisioning,
	} {
		few := siem.Event{}
		few.ID, few.At, few.Action, few.By.Kind = id, at, action, kind
		events["few values by "+string(kind)] = few
	}
	return events
}

// checkOCSF runs the program in test/ocsf, and returns its output.
func checkOCSF(t *testing.T, events []byte) []byte {
	t.Helper()
	const dir = "../../test/ocsf"
	program := filepath.Join(t.TempDir(), "ocsf")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-o", program, ".")
	build.Dir, build.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building the program: %v: %s", err, out)
	}
	list := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}",
		"github.com/valllabh/ocsf-schema-golang")
	list.Dir = dir
	module := must.Get(list.Output())(t)
	schema := filepath.Join(strings.TrimSpace(string(module)), "schema/v1.2-schema.json")
	//nolint:gosec // The program was just built.
	cmd := exec.CommandContext(t.Context(), program, schema)
	var failure bytes.Buffer
	cmd.Stdin, cmd.Stderr = bytes.NewReader(events), &failure
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the program failed: %v: %s", err, failure.String())
	}
	return out
}
