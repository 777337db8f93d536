package toolserver_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/tsumugi-ai/tsumugi/internal/tool"
	"github.com/tsumugi-ai/tsumugi/internal/toolserver"
)

func TestSchemasThatAreRefused(t *testing.T) {
	t.Parallel()
	bomb := func() string { // Each definition refers four times to the next one.
		var defs []string
		for i := range 7 {
			defs = append(defs, fmt.Sprintf(`"d%d":{"allOf":[%s]}`, i,
				strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`{"$ref":"#/$defs/d%d"},`, i+1), 4), ",")))
		}
		return `{"type":"object","$defs":{` + strings.Join(defs, ",") + `,"d7":{}},"properties":{"a":{"$ref":"#/$defs/d0"}}}`
	}
	for schema, reason := range map[string]string{
		`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`:                   "",
		`{"type":"object","$defs":{"a":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/a"}}}`: "",
		`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object"}`:                     "",
		`{"type":"string"}`: "オブジェクト",
		`true`:              "オブジェクト",
		bomb():              "展開すると大きく",
		`{"type":"object","properties":{"a":{"$ref":"#"}}}`:                                                      "自分自身",
		`{"type":"object","$defs":{"a":{"items":{"$ref":"#/$defs/a"}}},"properties":{"x":{"$ref":"#/$defs/a"}}}`: "自分自身",
		`{"type":"object","properties":{"a":{"$ref":"https://evil.example/x.json"}}}`:                            "定義の外",
		`{"type":"object","properties":{"a":{"$ref":"#/nowhere"}}}`:                                              "定義の外",
		// Validators resolve these references to other values than their texts suggest.
		`{"type":"object","properties":{"a":{"$id":"http://a/b","$defs":{"r":{"$ref":"#/$defs/s"},"s":{"$ref":"#/$defs/r"}},"$ref":"#/$defs/r"}},` +
			`"$defs":{"r":{},"s":{}}}`: "別の基準",
		`{"type":"object","$defs":{"r":{"$ref":"#/$defs/%72"},"%72":{}},"properties":{"a":{"$ref":"#/$defs/r"}}}`:       "自分自身",
		`{"type":"object","$defs":{"r":{"$REF":"#/$defs/r"}},"properties":{"a":{"$ref":"#/$defs/r"}}}`:                  "自分自身",
		`{"type":"object","$defs":{"r":{}},"$defſ":{"r":{"$ref":"#/$defs/r"}},"properties":{"a":{"$ref":"#/$defs/r"}}}`: "自分自身",
		`{"$id":"https://a.example/t.json","type":"object","properties":{"$id":{"type":"string"}}}`:                     "",
		`{"type":"object","$defs":{"a/b c":{}},"properties":{"a":{"$ref":"#/$defs/a~1b%20c"}}}`:                         "",
		`{"type":"object","properties":{"a":{"pattern":"("}}}`:                                                          "対応していない表記",
		`{"type":"object","properties":{"a":{"description":"` + "\u200bx" + `"}}}`:                                      "見えない文字",
		`{"type":"object","properties":{"a":{"description":"x\u0007"}}}`:                                                "見えない文字",
		`{"type":"object","properties":{"a":{"enum":["\u0000"]}}}`:                                                      "見えない文字",
		`{"type":"object","properties":{"a":{"enum":["\u202ex"]}}}`:                                                     "見えない文字",
		`{"type":"object","properties":{"a\u001b":{}}}`:                                                                 "見えない文字",
		`{"type":"object","description":"一行目\r\n\t二行目\\u0000"}`:                                                         "",
		`{"type":"object","properties":{"a":{"enum":["` + strings.Repeat("x", 70_000) + `"]}}}`:                         "大きすぎます（64 KB",
		`{"type":"object","a":` + strings.Repeat(`{"a":`, 40) + `1` + strings.Repeat("}", 41):                           "深すぎます",
	} {
		d, refused := toolserver.NewDefinition(&sdk.Tool{Name: "t", InputSchema: json.RawMessage(schema)})
		if (refused == "") != (reason == "") || !strings.Contains(refused, reason) {
			t.Errorf("%.80s: %q", schema, refused)
		}
		if !json.Valid(d.Schema) {
			t.Errorf("%.80s: the stored schema is %.80s", schema, d.Schema)
		}
	}
	d, refused := toolserver.NewDefinition(&sdk.Tool{
		Name: "t", Description: strings.Repeat("あ", 8001),
		InputSchema: json.RawMessage(`{"type":"object","title":"` + strings.Repeat("x", 70_000) + `"}`),
	})
	if !strings.Contains(refused, "説明が長すぎます") || len(d.Schema) > 64<<10 {
		t.Errorf("got %q, a schema of %d bytes", refused, len(d.Schema))
	}
}

// TestNoChangeIsHidden: an administrator sees each difference, also the end of a long text, and next to a property whose
// name looks like the path of another one. The differences are not much longer than the definitions.
func TestNoChangeIsHidden(t *testing.T) {
	t.Parallel()
	definition := func(description, schema string) toolserver.Definition {
		return toolserver.Definition{Description: description, Schema: json.RawMessage(schema)}
	}
	object := func(members string) string { return `{"type":"object",` + members + `}` }
	long, name := strings.Repeat("あ", 5_000), strings.Repeat("x", 20_000)
	var leaves []string
	for i := range 2_000 {
		leaves = append(leaves, fmt.Sprintf(`"a%d":1`, i))
	}
	for what, c := range map[string]struct {
		before, after toolserver.Definition
		shown         string
	}{
		"long description": {definition(long+"前", "{}"), definition(long+"後", "{}"), "後"},
		"long value": {
			definition("", object(`"description":"`+long+`前"`)), definition("", object(`"description":"`+long+`後"`)), "後",
		},
		"imitated path": {
			definition("", object(`"properties":{"x":{"description":"前"}}`)),
			definition("", object(`"properties":{"x":{"description":"後"}},"properties.x.description":"前"`)), "後",
		},
		"imitated quotes": {
			definition("", object(`"a":{"b.c":"前"}`)), definition("", object(`"a":{"b.c":"後"},"a.\"b":{"c\"":"前"}`)), "後",
		},
		"another type": {definition("", object(`"const":"1"`)), definition("", object(`"const":1`)), "1"},
		"many long paths": {
			definition("", "{}"), definition("", object(`"`+name+`":{`+strings.Join(leaves, ",")+`,"b":"後"}`)), "後",
		},
	} {
		for range 20 { // The order of members is random.
			size, found := 0, false
			for _, change := range (toolserver.Tool{Accepted: c.before, Offered: &c.after}).Changes() {
				size += len(change.Field) + len(change.Before) + len(change.After)
				found = found || change.Before != change.After && strings.Contains(change.After, c.shown)
			}
			if !found || size > 512<<10 {
				t.Errorf("%s: found %t, %d bytes", what, found, size)
				break
			}
		}
	}
}

// TestNamesOfTools: names have characters that all providers accept, at most 64, and are unique in a server.
func TestNamesOfTools(t *testing.T) {
	t.Parallel()
	found := toolserver.Discovery{}
	long := strings.Repeat("x", 100)
	remotes := []string{"get.user", "get/user", "顧客", long, long + "y", "ok-1"}
	// Two long names whose digests begin with the same bytes.
	for i, seen := 0, map[[4]byte]string{}; len(remotes) == 6; i++ {
		remote := fmt.Sprint(long, i)
		sum := sha256.Sum256([]byte(remote))
		if other, found := seen[[4]byte(sum[:4])]; found {
			remotes = append(remotes, other, remote)
		}
		seen[[4]byte(sum[:4])] = remote
	}
	for _, remote := range remotes {
		d, _ := toolserver.NewDefinition(&sdk.Tool{Name: remote, InputSchema: json.RawMessage(`{"type":"object"}`)})
		found.Tools = append(found.Tools, toolserver.Tool{Remote: remote, Accepted: d})
	}
	after, _ := toolserver.Server{Key: "crm"}.Apply(found)
	again, changed := after.Apply(found)
	names := map[string]bool{}
	for i, got := range after.Tools {
		if !tool.IsServerName(got.Name) || names[got.Name] || again.Tools[i].Name != got.Name || got.Rule != tool.RuleAsk {
			t.Errorf("%q: %q", got.Remote, got.Name)
		}
		names[got.Name] = true
	}
	if len(names) != len(found.Tools) || !names["crm__get_user"] || !names["crm__ok-1"] || len(changed) != 0 {
		t.Errorf("names %v, changed %v", names, changed)
	}
}

// TestNoToolReplacesAnother: a server cannot offer a tool under the name of another one, whose definition an
// administrator has accepted.
func TestNoToolReplacesAnother(t *testing.T) {
	t.Parallel()
	remote := strings.Repeat("x", 100)
	sum := sha256.Sum256([]byte(remote))
	found := toolserver.Discovery{}
	for _, n := range []int{4, 8, 16} { // The names that the digest could give.
		suffix := fmt.Sprintf("_%x", sum[:n])
		found.Tools = append(found.Tools, toolserver.Tool{Remote: remote[:64-len("crm__")-len(suffix)] + suffix})
	}
	found.Tools = append(found.Tools, toolserver.Tool{Remote: remote})
	after, _ := toolserver.Server{Key: "crm"}.Apply(found)
	names := map[string]bool{}
	for _, got := range after.Tools {
		if names[got.Name] {
			t.Errorf("two tools are named %s", got.Name)
		}
		names[got.Name] = true
	}
}

// FuzzDefinition: no schema of a server causes a crash, a definition that cannot be stored, or a check without an end.
func FuzzDefinition(f *testing.F) {
	for _, seed := range []string{
		`{"type":"object"}`, `{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`, `[]`, `{"$ref":1}`,
		`{"type":"object","patternProperties":{"(":{}}}`, `{"type":"object","items":[{"$ref":"#/items/0"}]}`,
	} {
		f.Add("説明", seed)
	}
	f.Fuzz(func(t *testing.T, description, schema string) {
		if !json.Valid([]byte(schema)) {
			return
		}
		d, refused := toolserver.NewDefinition(&sdk.Tool{
			Name: "t", Description: description, InputSchema: json.RawMessage(schema),
		})
		if encoded, err := json.Marshal(d); err != nil || refused == "" && strings.Contains(string(encoded), `\u0000`) {
			t.Errorf("%v: %q", err, encoded)
		}
		changed := toolserver.Tool{Accepted: toolserver.Definition{Schema: json.RawMessage(`{}`)}, Offered: &d}
		changed.Changes()
	})
}
