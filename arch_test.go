// Package tsumugi contains the tests of the whole repository, such as the imports between its packages.
package tsumugi_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/tsumugi-ai/tsumugi/test/must"
)

const module = "github.com/tsumugi-ai/tsumugi"

// order lists the packages: a package imports only packages that precede it. A package that is not listed is denied,
// except packages in an internal folder, which belong to the package around it. ARCHITECTURE.md describes the packages
// in the same order.
var order = []string{
	"clients/go", "test/leak", "test/must", "test/network", "migrations",
	"internal/fault", "internal/timeout", "internal/proxy", "internal/proxy/proxytest", "internal/dial", "internal/japan",
	"internal/uuidv7", "internal/runes", "internal/ngram", "internal/lru", "internal/doctor", "internal/work", "internal/secret", "internal/crx", "internal/ooxml",
	"internal/sandbox", "internal/sandbox/sandboxtest",
	"internal/answer", "internal/redline", "internal/proofread",
	"stream", "stream/streamtest", "stream/sse", "stream/bridge", "stream/bridge/bridgetest",
	"internal/tally", "internal/mail", "internal/tool",
	"internal/llm", "internal/llm/catalog", "internal/llm/offline", "internal/llm/llmtest",
	"internal/identity", "internal/identity/opaque", "internal/identity/pool", "internal/identity/directory",
	"internal/identity/sso", "internal/identity/saml", "internal/identity/saml/samltest", "internal/identity/oidc",
	"internal/identity/oidc/oidctest", "internal/identity/oauth",
	"internal/org", "internal/siem", "internal/scim", "internal/toolserver", "internal/skill",
	"internal/datasource/extract/pdf", "internal/datasource/extract/pdf/pdftest", "internal/datasource/extract",
	"internal/datasource/extract/extracttest", "internal/datasource/extractor", "internal/datasource/index",
	"internal/datasource", "internal/datasource/bucket", "internal/project",
	"internal/picture/raster", "internal/picture/picturetest", "internal/picture",
	"internal/websearch", "internal/websearch/websearchtest", "internal/webpage",
	"chat", "chat/ground",
	"internal/channel", "internal/channel/workspace", "internal/channel/channeltest", "internal/slack",
	"store/postgres", "store", "store/storetest", "internal/backup",
	"internal/telemetry", "internal/api/scope", "internal/api/docs/gen", "internal/api/ratelimit", "internal/api/openai",
	"internal/api", "web", "extension",
	"test/fakes", "test/fakes/model", "test/fakes/idp", "test/fakes/slack", "test/fakes/slack/fakeslack",
	"test/fakes/search", "test/fakes/tools", "test/collector", "test/ocsf", "test/zitadel", "test/receivers", "test/cluster", "test/system",
	"test/release", "test/deploy",
	"bench/wire", "bench/projectdb", "bench/eval", "bench", "bench/loadgen",
	"cmd/cluster", "cmd/upslack", "cmd/tsumugi",
	"scripts/figures", "scripts/image",
}

// bans are imports that the order alone would allow, each with its reason. The paths are prefixes: a ban applies to the
// packages in from and below them, except those in except and below them.
var bans = []struct {
	from   []string
	except []string
	to     []string
	reason string
}{
	{
		from:   []string{"clients/go"},
		to:     []string{module, "golang.org", "github.com"},
		reason: "a client depends only on the API, and adds no dependencies to the programs that use it",
	},
	{
		from:   []string{"internal/fault", "stream"},
		except: []string{"stream/sse", "stream/bridge", "stream/streamtest"},
		to:     []string{"golang.org", "github.com"},
		reason: "every other package depends on these two, so they depend only on the standard library",
	},
	{
		from:   []string{"stream"},
		except: []string{"stream/sse", "stream/bridge", "stream/streamtest"},
		to:     []string{module, "net"},
		reason: "the hub is independent of chats, users, databases and connections; stream/sse sends its events",
	},
	{
		from: []string{"stream/sse"},
		to: []string{
			module + "/stream/bridge", module + "/internal", module + "/chat", module + "/store",
			"github.com/nats-io",
		},
		reason: "a sender reads a watch, independently of chats, users and connections between servers",
	},
	{
		from: []string{
			"internal/fault", "stream", "internal/llm", "internal/identity", "internal/org", "internal/scim", "internal/skill",
			"internal/toolserver", "internal/datasource", "internal/picture", "chat", "internal/channel", "internal/api",
		},
		to:     []string{"github.com/jackc/pgx", "database/sql", module + "/store", module + "/migrations"},
		reason: "domains and the API are independent of the database: store implements their interfaces for cmd",
	},
	{
		from: []string{
			"internal/fault", "stream", "internal/org", "internal/scim", "internal/skill", "internal/datasource",
			"internal/picture", "chat", "internal/channel", "store",
		},
		to:     []string{"github.com/go-chi"},
		reason: "only the API and the user pool serve HTTP to clients",
	},
	{
		from: []string{
			"internal/org", "internal/skill", "internal/datasource", "internal/picture", "chat", "internal/channel",
			"store",
		},
		to:     []string{"net/http"},
		reason: "only the API converts between HTTP and the domains",
	},
	{
		from: []string{
			"internal/fault", "stream", "internal/identity", "internal/org", "internal/scim", "internal/skill",
			"internal/datasource", "internal/picture", "chat", "internal/channel", "store", "internal/api",
		},
		to:     []string{"github.com/sashabaranov"},
		reason: "only llm uses the provider's protocol",
	},
	{
		from: []string{
			"internal/fault", "stream", "internal/llm", "internal/identity", "internal/org", "internal/scim", "internal/skill",
			"internal/datasource", "internal/picture", "chat", "internal/channel", "store", "internal/api",
		},
		to: []string{
			"github.com/prometheus", "go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/exporters",
			module + "/internal/telemetry",
		},
		reason: "cmd decides how the server is measured; other packages count, or use OpenTelemetry's API",
	},
	{
		from:   []string{"internal/sandbox"},
		to:     []string{module + "/internal/secret"},
		reason: "a process that parses untrusted files must not have the server's secrets",
	},
	{
		from:   []string{"internal/websearch"},
		to:     []string{module + "/chat", module + "/internal/llm", module + "/internal/identity", module + "/internal/org"},
		reason: "a search depends on its words alone, not on the person or the purpose",
	},
	{
		from:   []string{"internal/datasource"},
		except: []string{"internal/datasource/bucket", "internal/datasource/extractor", "internal/datasource/extract/pdf"},
		to:     []string{"os", "syscall", "gocloud.dev"},
		reason: "bucket decides where files are stored; extractor and pdf share compiled code between servers",
	},
	{
		from:   []string{"internal/picture"},
		to:     []string{module + "/internal/datasource"},
		reason: "pictures and documents share only the errors in fault and the processes in sandbox",
	},
	{
		from:   []string{"internal/channel"},
		to:     []string{"github.com/slack-go", module + "/internal/slack"},
		reason: "its Surface interface contains all that it needs of a surface",
	},
	{
		from:   []string{"internal/slack"},
		to:     []string{module + "/store", module + "/internal/llm", module + "/internal/org", "github.com/go-chi"},
		reason: "an adapter depends on its surface and on the interface of channel",
	},
	{
		from:   []string{"internal/api"},
		to:     []string{module + "/internal/llm"},
		reason: "the API calls chat, which calls the model",
	},
	{
		from:   []string{"chat", "internal/skill"},
		to:     []string{module + "/internal/toolserver"},
		reason: "the interface chat.Tools contains all that answers need of tools",
	},
	{
		from: []string{"test/fakes/slack"},
		to: []string{
			module + "/internal", module + "/chat", module + "/store", module + "/stream", "github.com/slack-go",
		},
		reason: "a fake that shares code with the adapter would share its errors",
	},
	{
		from:   []string{"store/postgres"},
		to:     []string{module + "/chat"},
		reason: "the embedded server is independent of the tables in it",
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
	must.Succeed(t, err)
	return found
}

// below reports whether a path is one of the prefixes or below one of them.
func below(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		return path == prefix || strings.HasPrefix(path, prefix+"/")
	})
}

func TestPackagesAreInOrder(t *testing.T) {
	t.Parallel()
	found := packages(t)
	rank := func(dir string) int {
		if i := slices.Index(order, dir); i >= 0 {
			return i
		}
		return slices.IndexFunc(order, func(listed string) bool { return strings.HasPrefix(dir, listed+"/internal/") })
	}
	for dir, p := range found {
		own := rank(dir)
		if own < 0 {
			t.Errorf("%s is not in the order of the packages", dir)
			continue
		}
		for _, imported := range p.imports {
			other, ours := strings.CutPrefix(imported, module+"/")
			if ours && rank(other) > own {
				t.Errorf("%s imports %s, which follows it in the order of the packages", dir, other)
			}
		}
	}
	for i, dir := range order {
		if found[dir] == nil || slices.Index(order, dir) != i {
			t.Errorf("the order lists %s, which is no package or is listed twice", dir)
		}
	}
}

// TestArchitectureListsPackagesInOrder compares the list in ARCHITECTURE.md with the imports. Each line of the list
// begins with a path prefix. A package imports no package of a later line.
func TestArchitectureListsPackagesInOrder(t *testing.T) {
	t.Parallel()
	page := must.Get(os.ReadFile("ARCHITECTURE.md"))(t)
	_, list, _ := strings.Cut(string(page), "\n## Packages\n")
	_, list, _ = strings.Cut(list, "\n```\n")
	list, _, _ = strings.Cut(list, "\n```\n")
	var listed [][]string // The prefixes of each line.
	for line := range strings.Lines(list) {
		if names, _, ok := strings.Cut(line, "  "); ok && names != "" {
			listed = append(listed, strings.Split(strings.ReplaceAll(names, "/ ", " "), " "))
		}
	}
	// The line of a package is that of the longest matching prefix.
	lineOf := func(dir string) (best int) {
		best, length := -1, 0
		for i, prefixes := range listed {
			for _, prefix := range prefixes {
				prefix = strings.TrimSuffix(prefix, "/")
				if below(dir, []string{prefix}) && len(prefix) > length {
					best, length = i, len(prefix)
				}
			}
		}
		return best
	}
	for dir, p := range packages(t) {
		own := lineOf(dir)
		if own < 0 {
			t.Errorf("ARCHITECTURE.md does not list %s", dir)
			continue
		}
		for _, imported := range p.imports {
			if other, ours := strings.CutPrefix(imported, module+"/"); ours && lineOf(other) > own {
				t.Errorf("%s imports %s, which ARCHITECTURE.md lists after it", dir, other)
			}
		}
	}
}

func TestForbiddenImports(t *testing.T) {
	t.Parallel()
	found := packages(t)
	for _, ban := range bans {
		if ban.reason == "" || len(ban.to) == 0 {
			t.Errorf("the ban for %v has no imports or no reason", ban.from)
		}
		for _, prefix := range slices.Concat(ban.from, ban.except) {
			if found[prefix] == nil {
				t.Errorf("a ban names %s, which is no package", prefix)
			}
		}
		for dir, p := range found {
			if !below(dir, ban.from) || below(dir, ban.except) {
				continue
			}
			for _, imported := range p.imports {
				if below(imported, ban.to) {
					t.Errorf("%s imports %s: %s", dir, imported, ban.reason)
				}
			}
		}
	}
}

// TestProgramLinksNoDocumentParser: the page of the API is generated, so the program needs no parser of OpenAPI
// documents or Markdown.
func TestProgramLinksNoDocumentParser(t *testing.T) {
	t.Parallel()
	output := must.Get(exec.CommandContext(t.Context(), "go", "list", "-deps", "./cmd/tsumugi").Output())(t)
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

func TestPackagesAreDocumented(t *testing.T) {
	t.Parallel()
	for dir, p := range packages(t) {
		if !strings.HasPrefix(p.doc, "Package ") && !strings.HasPrefix(p.doc, "Command ") {
			t.Errorf("%s has no doc comment", dir)
		}
	}
}
