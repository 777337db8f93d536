// Command ocsf checks events against the OCSF schema 1.2.0, for tests.
//
// Its argument is the schema as the module github.com/valllabh/ocsf-schema-golang has it (schema/v1.2-schema.json). It
// reads events as lines of JSON, and prints one line of JSON for each: a list of problems. It knows nothing of the
// program that made the events. The module's schema lacks the constraints of classes, which are therefore not checked.
// It is a separate Go module, so that the schema's libraries are not in the server's go.mod.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	validate "github.com/valllabh/ocsf-schema-golang/ocsfvalidate/1.2"
)

func main() {
	if err := run(os.Args[1:], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "ocsf:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, out io.Writer) error {
	if len(args) != 1 {
		return fmt.Errorf("the argument is a schema, not %q", args)
	}
	text, err := os.ReadFile(args[0]) //nolint:gosec // The test chooses the file.
	if err != nil {
		return err
	}
	var s schema
	if err := json.Unmarshal(text, &s); err != nil {
		return err
	}
	lines, results := bufio.NewScanner(in), json.NewEncoder(out)
	for lines.Scan() {
		problems, err := s.check(lines.Bytes())
		if err != nil {
			return err
		}
		if err := results.Encode(problems); err != nil {
			return err
		}
	}
	return lines.Err()
}

// check returns the problems of an event.
func (s schema) check(line []byte) ([]string, error) {
	var event map[string]any
	if err := json.Unmarshal(line, &event); err != nil {
		return nil, err
	}
	metadata, _ := event["metadata"].(map[string]any)
	profiles, _ := metadata["profiles"].([]any)
	c := checker{schema: s, profiles: profiles, problems: []string{}}
	name, ok := s.className(event["class_uid"])
	if !ok {
		c.report("class_uid", "%v is not a class", event["class_uid"])
		return c.problems, nil
	}
	c.object("", s.Classes[name], event)
	c.identifiers(event)
	if metadata["version"] != s.Version {
		c.report("metadata.version", "is %v, the schema is %s", metadata["version"], s.Version)
	}
	// The JSON Schema of the module was made with all profiles, and therefore requires the attribute of the profile Cloud.
	event["cloud"] = map[string]any{"provider": "none"}
	withProfile, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	if err := validate.Validate(name, withProfile); err != nil {
		c.report("", "the JSON Schema of class %s: %v", name, err)
	}
	return c.problems, nil
}

// identifiers checks that the identifiers of class, activity and type agree.
func (c *checker) identifiers(event map[string]any) {
	class, _ := event["class_uid"].(float64)
	activity, _ := event["activity_id"].(float64)
	if kind, _ := event["type_uid"].(float64); kind != class*100+activity {
		c.report("type_uid", "is %.0f, but class and activity are %.0f and %.0f", kind, class, activity)
	}
}

// className returns the name of a class with an identifier.
func (s schema) className(uid any) (string, bool) {
	for _, name := range slices.Sorted(maps.Keys(s.Classes)) {
		values := s.Classes[name].Attributes["class_uid"].Enum
		if number, ok := uid.(float64); ok && values[fmt.Sprintf("%.0f", number)].Caption != "" {
			return name, true
		}
	}
	return "", false
}
