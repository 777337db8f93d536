// Package tsumugi holds the test of the house: which package may know which.
package tsumugi_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/tsumugi-ai/tsumugi"

// order is the list of the rooms: a package imports only packages that stand before it. See ARCHITECTURE.md.
var order = []string{
	"clients/go", "test/leak", "internal/fault", "internal/lru", "internal/secret", "internal/ngram", "internal/answer",
	"internal/redline",
	"internal/proofread",
	"migrations", "internal/mail", "internal/crx",
	"stream", "stream/sse", "stream/streamtest", "stream/bridge", "stream/bridge/bridgetest", "internal/tally",
	"internal/llm", "internal/llm/catalog", "internal/llm/offline", "internal/llm/llmtest",
	"internal/identity", "internal/identity/opaque", "internal/identity/pool", "internal/identity/directory",
	"internal/identity/saml", "internal/identity/saml/samltest",
	"internal/org", "internal/identity/oauth", "internal/skill", "internal/webpage",
	"internal/datasource/extract/pdf", "internal/datasource/extract/pdf/pdftest",
	"internal/datasource/extract", "internal/picture/raster", "internal/datasource/extract/extracttest", "internal/datasource/index",
	"internal/datasource", "internal/picture",
	"internal/datasource/extract/child", "internal/datasource/bucket",
	"internal/websearch", "internal/websearch/websearchtest", "chat", "chat/ground",
	"internal/channel", "internal/channel/channeltest",
	"store/postgres", "store", "store/storetest",
	"internal/telemetry", "internal/slack", "internal/api/scope", "internal/api/docs/gen",
	"internal/api/ratelimit", "internal/api/openai", "internal/api", "web", "extension",
	"test/fakes", "test/fakes/model", "test/fakes/idp", "test/fakes/slack", "test/fakes/slack/fakeslack",
	"test/fakes/search",
	"test/cluster", "bench/wire", "bench/eval", "bench", "bench/loadgen",
	"cmd/cluster", "cmd/upslack", "test/system", "cmd/tsumugi",
}

// bans are imports that the order alone would allow, each with its reason. from and to are prefixes of import paths.
var bans = []struct {
	from    []string
	to      []string
	because string
}{
	{
		[]string{"clients/go"},
		[]string{module, "golang.org", "github.com"},
		"a client knows the wire alone, and asks nothing of those who use it but Go",
	},
	{
		[]string{"internal/fault", "stream"},
		[]string{"golang.org", "github.com"},
		"the two packages that everything rests on need nothing but the standard library",
	},
	{
		[]string{"stream"},
		[]string{module, "net"},
		"the hub knows nothing of chats, users, databases or connections: stream/sse sends what it says",
	},
	{
		[]string{"stream/sse"},
		[]string{
			module + "/stream/bridge", module + "/internal", module + "/chat", module + "/store",
			"github.com/nats-io",
		},
		"a sender takes bytes from a watch: it knows nothing of chats, users, or how servers are joined",
	},
	{
		[]string{
			"internal/fault", "stream", "stream/sse", "internal/llm", "internal/identity", "internal/org",
			"internal/skill", "internal/datasource", "chat", "internal/channel", "internal/api",
			"internal/api/ratelimit", "internal/api/openai",
		},
		[]string{"github.com/jackc/pgx", "database/sql", module + "/store", module + "/migrations"},
		"domains and API know no database: store implements what they declare, and only cmd sees both",
	},
	{
		[]string{
			"internal/fault", "stream", "stream/sse", "internal/org", "internal/skill", "internal/datasource",
			"chat", "internal/channel", "store",
		},
		[]string{"github.com/go-chi"},
		"only the API and the user pool speak HTTP to clients",
	},
	{
		[]string{"internal/org", "internal/skill", "internal/datasource", "chat", "internal/channel", "store"},
		[]string{"net/http"},
		"HTTP ends in the API",
	},
	{
		[]string{
			"internal/fault", "stream", "stream/sse", "internal/identity", "internal/org", "internal/skill",
			"internal/datasource", "chat", "internal/channel", "store", "internal/api",
			"internal/api/ratelimit", "internal/api/openai",
		},
		[]string{"github.com/sashabaranov"},
		"only llm knows the provider's protocol",
	},
	{
		[]string{
			"internal/fault", "stream", "stream/sse", "internal/llm", "internal/identity", "internal/org",
			"internal/skill", "internal/datasource", "chat", "internal/channel", "store", "internal/api",
			"internal/api/ratelimit", "internal/api/openai",
		},
		[]string{
			"github.com/prometheus", "go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/exporters",
			module + "/internal/telemetry",
		},
		"how the server is measured is decided in cmd: the others count, or use OpenTelemetry's API",
	},
	{
		[]string{"internal/websearch"},
		[]string{module + "/chat", module + "/internal/llm", module + "/internal/identity", module + "/internal/org"},
		"a search knows its words alone: not who asks, and not for what",
	},
	{[]string{"internal/datasource"}, []string{"os", "syscall", "gocloud.dev"}, "where files are kept is the bucket's"},
	{
		[]string{"internal/channel"},
		[]string{"github.com/slack-go", module + "/internal/slack"},
		"what it knows of a surface stands in the Surface interface",
	},
	{
		[]string{"internal/slack"},
		[]string{module + "/store", module + "/internal/llm", module + "/internal/org", "github.com/go-chi"},
		"an adapter knows its surface and what channel asks of it",
	},
	{
		[]string{"internal/api", "internal/api/ratelimit", "internal/api/openai"},
		[]string{module + "/internal/llm"},
		"the API asks chat, never the model",
	},
	{
		[]string{"test/fakes/slack"},
		[]string{
			module + "/internal", module + "/chat", module + "/store", module + "/stream", "github.com/slack-go",
		},
		"a fake that shared code with what it stands against would share its mistakes",
	},
	{
		[]string{"internal/org", "internal/skill", "internal/datasource", "store/postgres"},
		[]string{module + "/chat"},
		"chat stands above them",
	},
}

type pkg struct {
	doc     string
	imports []string
}

// packages reads the imports and doc comments of the module's packages, without tests.
func packages(t *testing.T) map[string]*pkg {
	t.Helper()
	found := make(map[string]*pkg)
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if base := entry.Name(); base == "node_modules" || base == "testdata" || base == "data" ||
				(base != "." && strings.HasPrefix(base, ".")) {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		dir := path.Dir(filepath.ToSlash(name))
		p := found[dir]
		if p == nil {
			p = &pkg{}
			found[dir] = p
		}
		if file.Doc != nil {
			p.doc = file.Doc.Text()
		}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			p.imports = append(p.imports, imported)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestPackagesStandInOrder(t *testing.T) {
	t.Parallel()
	rank := func(dir string) int {
		if i := slices.Index(order, dir); i >= 0 {
			return i
		}
		// Internal packages belong to the room they are in.
		return slices.IndexFunc(order, func(room string) bool { return strings.HasPrefix(dir, room+"/internal/") })
	}
	for dir, p := range packages(t) {
		own := rank(dir)
		if own < 0 {
			t.Errorf("%s has no place in the order of the rooms; give it one", dir)
			continue
		}
		for _, imported := range p.imports {
			other, ours := strings.CutPrefix(imported, module+"/")
			if ours && rank(other) > own {
				t.Errorf("%s imports %s, which stands after it", dir, other)
			}
		}
	}
}

func TestPackagesKeepOut(t *testing.T) {
	t.Parallel()
	for dir, p := range packages(t) {
		for _, ban := range bans {
			if !slices.ContainsFunc(ban.from, func(from string) bool {
				return dir == from ||
					strings.HasPrefix(dir, from+"/internal/")
			}) {
				continue
			}
			for _, imported := range p.imports {
				if slices.ContainsFunc(ban.to, func(to string) bool {
					return imported == to ||
						strings.HasPrefix(imported, to+"/")
				}) {
					t.Errorf("%s imports %s: %s", dir, imported, ban.because)
				}
			}
		}
	}
}

// TestProgramLinksNoDocumentParser: the page of the API is generated, so the program needs no parser of OpenAPI
// documents or Markdown.
func TestProgramLinksNoDocumentParser(t *testing.T) {
	t.Parallel()
	output, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/tsumugi").Output()
	if err != nil {
		t.Fatal(err)
	}
	dependencies := strings.Fields(string(output))
	for _, dependency := range dependencies {
		for _, parser := range []string{"github.com/getkin/kin-openapi", "github.com/yuin/goldmark"} {
			if dependency == parser || strings.HasPrefix(dependency, parser+"/") {
				t.Errorf("cmd/tsumugi depends on %s", dependency)
			}
		}
	}
	if !slices.Contains(dependencies, module+"/internal/api") {
		t.Errorf("go list reported %d packages", len(dependencies))
	}
}

func TestPackagesSayWhatTheyOwn(t *testing.T) {
	t.Parallel()
	for dir, p := range packages(t) {
		if !strings.HasPrefix(p.doc, "Package ") && !strings.HasPrefix(p.doc, "Command ") {
			t.Errorf("%s has no doc comment", dir)
		}
	}
}
