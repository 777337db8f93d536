package pool

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the protocol's members, in characters.
const (
	maxClientID = 128
	minSession  = 20
	maxSession  = 2048
	maxUsername = 128
	maxPoolID   = 55
)

// input is the JSON object of a request. Unknown members are ignored, as AWS does, and known ones are matched by their
// exact names. Errors are collected until check is called: AWS reports all of them at once.
type input struct {
	members    map[string]json.RawMessage
	malformed  *refusal
	violations []string
}

// rule is the constraint on a string member.
type rule struct {
	required bool
	min, max int             // Length in characters. If max is 0, only the body is limited.
	chars    func(rune) bool // The allowed characters. Nil: all.
	pattern  string          // chars as the protocol writes it in errors.
	values   []string        // The allowed values. Nil: all.
	secret   bool            // Errors must not repeat the value.
}

// parseInput parses the body of a request.
func parseInput(body []byte) (*input, error) {
	trimmed := bytes.TrimLeft(body, " \t\r\n")
	if len(trimmed) == 0 || trimmed[0] != '{' || !utf8.Valid(body) {
		return nil, serialization("The request body is not a JSON object.")
	}
	in := &input{}
	if err := json.Unmarshal(body, &in.members); err != nil {
		return nil, serialization("The request body is not a JSON object.")
	}
	return in, nil
}

// text returns a string member, or "" if it is missing.
func (in *input) text(name string, r rule) string {
	value, ok := in.string(in.members[name])
	if !ok {
		if r.required {
			in.violate(name, "null", r, "Member must not be null")
		}
		return ""
	}
	shown := "'" + value + "'"
	length := utf8.RuneCountInString(value)
	if r.values != nil && !slices.Contains(r.values, value) {
		in.violate(name, shown, r, fmt.Sprintf("Member must satisfy enum value set: [%s]",
			strings.Join(r.values, ", ")))
	}
	if length < r.min {
		in.violate(name, shown, r, fmt.Sprintf("Member must have length greater than or equal to %d", r.min))
	}
	if r.max > 0 && length > r.max {
		in.violate(name, shown, r, fmt.Sprintf("Member must have length less than or equal to %d", r.max))
	}
	if r.chars != nil && (value == "" || strings.ContainsFunc(value, not(r.chars))) {
		in.violate(name, shown, r, "Member must satisfy regular expression pattern: "+r.pattern)
	}
	return value
}

// texts returns a member that is a map of strings. A missing member is an empty map; null entries are left out.
func (in *input) texts(name string) map[string]string {
	raw := in.members[name]
	values := map[string]string{}
	if isNull(raw) {
		return values
	}
	if raw[0] != '{' {
		in.malform("Unexpected field type")
		return values
	}
	var entries map[string]json.RawMessage
	if err := json.Unmarshal(raw, &entries); err != nil { // Unreachable: it was part of a valid document.
		in.malform("Unexpected field type")
		return values
	}
	for key, entry := range entries {
		if value, ok := in.string(entry); ok {
			values[key] = value
		}
	}
	return values
}

// flag returns a Boolean entry of a member that is an object, and whether the object exists. A missing entry is false,
// because the SDKs leave out false.
func (in *input) flag(name, entry string) (value, given bool) {
	raw := in.members[name]
	if isNull(raw) {
		return false, false
	}
	var entries map[string]json.RawMessage
	if json.Unmarshal(raw, &entries) != nil {
		in.malform("Unexpected field type")
		return false, false
	}
	raw = entries[entry]
	if !isNull(raw) && json.Unmarshal(raw, &value) != nil {
		in.malform("Unexpected field type")
	}
	return value, true
}

// attributes returns a member that is a list of attributes. A missing member is an empty list.
func (in *input) attributes(name string, required bool) []attribute {
	raw := in.members[name]
	if isNull(raw) {
		if required {
			in.violate(name, "null", rule{}, "Member must not be null")
		}
		return nil
	}
	var entries []map[string]json.RawMessage
	if raw[0] != '[' || json.Unmarshal(raw, &entries) != nil {
		in.malform("Unexpected field type")
		return nil
	}
	list := make([]attribute, len(entries))
	for i, entry := range entries {
		key, ok := in.string(entry["Name"])
		if !ok || key == "" {
			in.violate(fmt.Sprintf("%s.%d.member.name", name, i+1), "null", rule{}, "Member must not be null")
		}
		list[i].Name = key
		list[i].Value, _ = in.string(entry["Value"])
	}
	return list
}

// string decodes a JSON string. ok is false for null or a missing value; any other type makes the input malformed.
func (in *input) string(raw json.RawMessage) (value string, ok bool) {
	if isNull(raw) {
		return "", false
	}
	switch raw[0] {
	case '"':
		if err := json.Unmarshal(raw, &value); err == nil {
			return value, true
		}
		in.malform("Unexpected field type")
	case '{':
		in.malform("Start of structure or map found where not expected.")
	case '[':
		in.malform("Start of list found where not expected.")
	case 't', 'f':
		in.malform(strings.ToUpper(string(raw)) + "_VALUE can not be converted to a String")
	default:
		in.malform("NUMBER_VALUE can not be converted to a String")
	}
	return "", false
}

func isNull(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

func (in *input) malform(message string) {
	if in.malformed == nil {
		in.malformed = serialization(message)
	}
}

func (in *input) violate(name, shown string, r rule, constraint string) {
	value := "Value " + shown + " at"
	if r.secret {
		value = "Value at"
	}
	name = strings.ToLower(name[:1]) + name[1:]
	in.violations = append(in.violations, fmt.Sprintf("%s '%s' failed to satisfy constraint: %s", value, name,
		constraint))
}

// check returns the collected errors of the members that were read, or nil.
func (in *input) check() error {
	if in.malformed != nil {
		return in.malformed
	}
	switch n := len(in.violations); n {
	case 0:
		return nil
	case 1:
		return invalidParameter("1 validation error detected: %s", in.violations[0])
	default:
		return invalidParameter("%d validation errors detected: %s", n, strings.Join(in.violations, "; "))
	}
}

// Rules shared by several operations.

func clientIDRule() rule {
	return rule{required: true, min: 1, max: maxClientID, chars: isClientID, pattern: `[\w+]+`}
}

func tokenRule() rule {
	return rule{required: true, chars: isToken, pattern: `[A-Za-z0-9-_=.]+`, secret: true}
}

func usernameRule() rule {
	return rule{required: true, min: 1, max: maxUsername, chars: isUsername, pattern: `[\p{L}\p{M}\p{S}\p{N}\p{P}]+`}
}

func sessionRule() rule { return rule{min: minSession, max: maxSession, secret: true} }

// not returns the negation of a predicate.
func not(f func(rune) bool) func(rune) bool { return func(r rune) bool { return !f(r) } }

func isAlphanumeric(r rune) bool {
	return r <= unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

func isRegion(r rune) bool { return isAlphanumeric(r) || r == '-' }

func isClientID(r rune) bool { return isAlphanumeric(r) || r == '_' || r == '+' }

func isUsername(r rune) bool {
	return unicode.In(r, unicode.L, unicode.M, unicode.S, unicode.N, unicode.P)
}

func isNotSpace(r rune) bool { return !unicode.IsSpace(r) }

func isToken(r rune) bool { return isAlphanumeric(r) || strings.ContainsRune("-_=.", r) }
