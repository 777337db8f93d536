package toolserver

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-openapi/jsonpointer"
	"github.com/google/jsonschema-go/jsonschema"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/tsumugi-ai/tsumugi/internal/runes"
	"github.com/tsumugi-ai/tsumugi/internal/tool"
)

// Limits of a definition.
const (
	maxTitle       = 100       // In characters; longer titles are shortened.
	maxDescription = 8_000     // In characters.
	maxSchema      = 64 << 10  // In bytes.
	maxSchemaDepth = 32        // Of nested values, with references replaced.
	maxSchemaNodes = 5_000     // Values, with references replaced.
	maxShownFields = 256 << 10 // Bytes of the values of a schema with their paths, in a difference.
)

// newDefinition returns the definition of a tool, or why it cannot be used.
func newDefinition(t *sdk.Tool) (d Definition, refused string) {
	hints := cmp.Or(t.Annotations, &sdk.ToolAnnotations{})
	d.Title = runes.OneLine(cmp.Or(t.Title, hints.Title), maxTitle)
	d.Claims = Claims{
		ReadOnly: hints.ReadOnlyHint, Idempotent: hints.IdempotentHint,
		Destructive: !hints.ReadOnlyHint && (hints.DestructiveHint == nil || *hints.DestructiveHint),
		OpenWorld:   hints.OpenWorldHint == nil || *hints.OpenWorldHint,
	}
	d.Description = clean(t.Description)
	if utf8.RuneCountInString(d.Description) > maxDescription {
		d.Description = runes.First(d.Description, maxDescription)
		refused = fmt.Sprintf("説明が長すぎます（%d文字まで）。", maxDescription)
	}
	schema, err := json.Marshal(t.InputSchema)
	if err != nil || len(schema) > maxSchema {
		d.Schema = json.RawMessage(`{}`)
		return d, cmp.Or(refused, fmt.Sprintf("引数の定義が大きすぎます（%d KBまで）。", maxSchema>>10))
	}
	d.Schema = schema
	if _, err := checkSchema(schema); err != nil && refused == "" {
		refused = err.Error()
	}
	return d, refused
}

// clean removes characters that administrators could not see.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if invisible(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}

// invisible reports whether administrators could not see a character, although models read it.
func invisible(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Cf, r)
}

// hasInvisible reports whether a text of a schema has invisible characters, apart from the ends of lines of Windows.
func hasInvisible(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return r != '\r' && invisible(r) })
}

// Reasons why a schema is refused, for people.
var (
	errSchemaObject    = errors.New("引数の定義が、オブジェクトのJSON Schemaではありません。")
	errSchemaDepth     = fmt.Errorf("引数の定義の入れ子が深すぎます（%d段まで）。", maxSchemaDepth)
	errSchemaNodes     = errors.New("引数の定義が、参照を展開すると大きくなりすぎます。")
	errSchemaRecursion = errors.New("引数の定義が、自分自身を参照しています。")
	errSchemaRef       = errors.New("引数の定義が、定義の外を参照しています。")
	errSchemaBase      = errors.New("引数の定義の途中に、別の基準（$id）があります。")
	errSchemaForm      = errors.New("引数の定義をJSON Schemaとして読み取れませんでした。")
	errSchemaInvisible = errors.New("引数の定義に、見えない文字が含まれています。")
)

// checkSchema prepares a schema for checking arguments, or returns the reason why it cannot be used. References are
// followed only within the schema, and not in circles, so that neither a model's provider nor the check of arguments
// expands them without end.
func checkSchema(schema json.RawMessage) (*jsonschema.Resolved, error) {
	if err := walkSchema(schema); err != nil {
		return nil, err
	}
	var parsed jsonschema.Schema
	if err := json.Unmarshal(schema, &parsed); err != nil {
		return nil, errSchemaForm
	}
	known, err := json.Marshal(parsed) // As the library has read it, for example with $REF as $ref.
	if err != nil {
		return nil, errSchemaForm
	}
	if err := walkSchema(known); err != nil {
		return nil, err
	}
	resolved, err := parsed.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("引数の定義に、対応していない表記があります（%s）。", runes.First(err.Error(), 200))
	}
	return resolved, nil
}

// walkSchema checks the values of a schema and its references.
func walkSchema(schema json.RawMessage) error {
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		return errSchemaObject
	}
	object, ok := root.(map[string]any)
	if !ok || object["type"] != "object" {
		return errSchemaObject
	}
	w := schemaWalk{root: root, active: map[string]bool{"#": true}}
	return w.visit(root, 0)
}

// schemaWalk counts the values of a schema, with references replaced by their targets.
type schemaWalk struct {
	root   any
	active map[string]bool // The references around the current value.
	nodes  int

	onlySize bool // Neither texts nor references are checked.
}

func (w *schemaWalk) visit(value any, depth int) error {
	w.nodes++
	switch {
	case w.nodes > maxSchemaNodes:
		return errSchemaNodes
	case depth > maxSchemaDepth:
		return errSchemaDepth
	}
	switch value := value.(type) {
	case string:
		if !w.onlySize && hasInvisible(value) {
			return errSchemaInvisible
		}
	case []any:
		for _, item := range value {
			if err := w.visit(item, depth+1); err != nil {
				return err
			}
		}
	case map[string]any:
		for name, item := range value {
			if !w.onlySize && hasInvisible(name) {
				return errSchemaInvisible
			}
			if err := w.visit(item, depth+1); err != nil {
				return err
			}
			ref, isText := item.(string)
			switch {
			case w.onlySize || !isText:
			case name == "$id" && depth > 0:
				return errSchemaBase
			case name == "$ref" || name == "$dynamicRef" || name == "$recursiveRef":
				if err := w.follow(ref, depth); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (w *schemaWalk) follow(ref string, depth int) error {
	if w.active[ref] {
		return errSchemaRecursion
	}
	target, ok := resolvePointer(w.root, ref)
	if !ok {
		return errSchemaRef
	}
	w.active[ref] = true
	defer delete(w.active, ref)
	return w.visit(target, depth+1)
}

// resolvePointer returns the value at a reference such as #/$defs/address (RFC 6901).
func resolvePointer(root any, ref string) (any, bool) {
	ref, err := url.PathUnescape(ref)
	if err != nil || !strings.HasPrefix(ref, "#/") {
		return nil, false
	}
	pointer, err := jsonpointer.New(ref[1:])
	if err != nil {
		return nil, false
	}
	value, _, err := pointer.Get(root)
	return value, err == nil
}

// Digest returns the hash of a definition without its claims and the earlier ones, in hexadecimal digits.
func (d Definition) Digest() string {
	d.Claims, d.Earlier = Claims{}, nil
	return hashOf(d)
}

// Change is a difference between two definitions, for people.
type Change struct {
	After, Before string // "" for a value that does not exist.
	Field         string // "title", "description", or the path of a value in the schema, such as properties.city.type.
}

// Changes returns the differences between the accepted definition and the one that the server offers, by field.
func (t Tool) Changes() []Change {
	if t.Offered == nil {
		return nil
	}
	before, after := t.Accepted.fields(), t.Offered.fields()
	var changes []Change
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if before[name] != after[name] {
			changes = append(changes, Change{Field: name, Before: before[name], After: after[name]})
		}
	}
	return changes
}

// fields returns the values of a definition by their paths. A schema whose paths are too long is one value.
func (d Definition) fields() map[string]string {
	fields := make(map[string]string)
	if addFields(fields, "schema", gjson.ParseBytes(d.Schema), 0) > maxShownFields {
		fields = map[string]string{"schema": string(d.Schema)}
	}
	fields["title"], fields["description"] = d.Title, d.Description
	return fields
}

// addFields adds the values within a value by their paths, and returns their size in bytes. It stops when the size
// exceeds maxShownFields. An array, whose order matters, and an object nested deeper than maxSchemaDepth count as one
// value.
func addFields(fields map[string]string, path string, value gjson.Result, depth int) (size int) {
	if value.IsObject() && value.Raw != "{}" && depth < maxSchemaDepth {
		value.ForEach(func(key, item gjson.Result) bool {
			name := key.Str
			if name == "" || strings.ContainsAny(name, `."`) { // Otherwise another value could have the same path.
				name = strconv.Quote(name)
			}
			size += addFields(fields, path+"."+name, item, depth+1)
			return size <= maxShownFields
		})
		return size
	}
	fields[path] = value.Str
	if value.Type != gjson.String || json.Valid([]byte(value.Str)) { // The text "1" is not the number 1.
		fields[path] = value.Raw
	}
	return len(path) + len(fields[path])
}

// Apply returns the server with the tools of a discovery. Tools that are new have RuleAsk. A tool whose definition has changed
// keeps the accepted one, and is not usable until the new one is accepted; so does one that the server had dropped
// meanwhile. A partial discovery neither adds nor drops tools. changed are the names of tools whose definition has changed
// since the last discovery.
func (s Server) Apply(found Discovery) (after Server, changed []string) {
	s.CheckedAt, s.Failure = &found.At, found.Failure
	if found.Failure != "" {
		return s, nil
	}
	tools := slices.Clone(s.Tools)
	for i := range tools {
		tools[i].Gone = tools[i].Gone || !found.Partial
	}
	for _, f := range found.Tools {
		i := slices.IndexFunc(tools, func(t Tool) bool { return t.Remote == f.Remote })
		if i < 0 {
			var free bool
			if f.Name, free = toolName(s.Key, f.Remote, tools); free && !found.Partial {
				f.Rule = tool.RuleAsk
				tools = append(tools, f)
			}
			continue
		}
		t := &tools[i]
		before := t.Accepted
		if t.Offered != nil {
			before = *t.Offered
		}
		t.Gone, t.Refused, t.Offered = false, f.Refused, nil
		switch {
		case t.Accepted.Digest() == f.Accepted.Digest():
			t.Accepted.Claims = f.Accepted.Claims
		case !s.accepted(*t, f.Accepted):
			t.Offered = &f.Accepted
			if before.Digest() != f.Accepted.Digest() {
				changed = append(changed, t.Name)
			}
		}
	}
	slices.SortFunc(tools, func(a, b Tool) int { return strings.Compare(a.Name, b.Name) })
	s.Tools = tools
	return s, changed
}

var notInName = regexp.MustCompile(`[^A-Za-z0-9_-]`)

// toolName returns the name for a new tool, and whether none of the tools has it. A name that is too long or taken ends
// with a digest. The name with the digest is taken only if a server tries to replace another tool.
func toolName(key, remote string, tools []Tool) (name string, free bool) {
	name = key + tool.Separator + notInName.ReplaceAllString(remote, "_")
	taken := func() bool { return slices.ContainsFunc(tools, func(t Tool) bool { return t.Name == name }) }
	if len(name) > maxToolName || taken() {
		sum := sha256.Sum256([]byte(remote))
		suffix := "_" + hex.EncodeToString(sum[:8])
		name = name[:min(len(name), maxToolName-len(suffix))] + suffix
	}
	return name, !taken()
}
